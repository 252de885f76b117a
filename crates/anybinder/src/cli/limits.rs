//! What open files and users may make the driver keep, as a command line says it.

use binder_fuse::Limits;

/// One limit, and what it is to be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    place: Place,
    most: usize,
}

/// Where a limit is kept.
type Place = fn(&mut Limits) -> &mut usize;

/// The limits by their names; those that begin with `user-` are for all files of a user.
const NAMES: [(&str, Place); 13] = [
    ("threads", |limits| &mut limits.threads),
    ("nodes", |limits| &mut limits.nodes),
    ("handles", |limits| &mut limits.handles),
    ("deaths", |limits| &mut limits.deaths),
    ("calls", |limits| &mut limits.calls),
    ("oneways", |limits| &mut limits.oneways),
    ("files", |limits| &mut limits.files),
    ("unread", |limits| &mut limits.unread),
    ("user-threads", |limits| &mut limits.per_user.threads),
    ("user-nodes", |limits| &mut limits.per_user.nodes),
    ("user-handles", |limits| &mut limits.per_user.handles),
    ("user-oneways", |limits| &mut limits.per_user.oneways),
    ("user-bytes", |limits| &mut limits.per_user.bytes),
];

impl Limit {
    /// Reads `NAME=NUMBER`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (name, most) = text.split_once('=').ok_or("a limit is written as NAME=NUMBER")?;
        let known = NAMES.iter().find(|(known, _)| *known == name);
        let (_, place) = *known.ok_or_else(|| {
            let names: Vec<_> = NAMES.iter().map(|(name, _)| *name).collect();
            format!("there is no limit '{name}', but {}", names.join(", "))
        })?;
        let most = most.parse().map_err(|error| format!("'{most}' is no number: {error}"))?;
        Ok(Self { place, most })
    }
}

/// The limits that are meant by these, the last of a name before all others.
pub(crate) fn limits(wanted: &[Limit]) -> Limits {
    let mut limits = Limits::default();
    for Limit { place, most } in wanted {
        *place(&mut limits) = *most;
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_sets_a_limit_of_its_own() {
        let wanted: Vec<Limit> = (NAMES.iter().zip(1..))
            .map(|((name, _), most)| Limit::parse(&format!("{name}={most}")).unwrap())
            .collect();
        let mut set = limits(&wanted);
        let read: Vec<usize> = NAMES.iter().map(|(_, place)| *place(&mut set)).collect();
        assert_eq!(read, (1..=NAMES.len()).collect::<Vec<_>>());
        assert_eq!(limits(&[]), Limits::default());
    }

    #[test]
    fn the_last_of_a_name_counts() {
        let wanted = ["nodes=7", "nodes=8"].map(|text| Limit::parse(text).unwrap());
        assert_eq!(limits(&wanted).nodes, 8);
    }

    #[test]
    fn what_is_no_limit_is_refused_and_says_why() {
        for (text, reason) in [
            ("nodes", "a limit is written as NAME=NUMBER"),
            ("nodes=many", "'many' is no number"),
            ("bytes=1", "there is no limit 'bytes', but threads, "),
        ] {
            let refused = Limit::parse(text).unwrap_err();
            assert!(refused.starts_with(reason), "{refused}");
        }
    }
}
