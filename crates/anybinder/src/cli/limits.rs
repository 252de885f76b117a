//! Limits for open files and users, as a command line gives them.

use binder_fuse::{Limits, Resource, default_limits};

/// One limit, and what it is to be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    place: LimitPlace,
    most: usize,
}

/// Where a limit is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LimitPlace {
    File(Resource),
    User(Resource),
    AllBytes,
}

/// The prefix of limits that are for all files of a user.
const USER: &str = "user-";
/// The limit of the bytes of all users.
const ALL_BYTES: &str = "all-bytes";

/// The limits by their names.
fn places() -> impl Iterator<Item = (String, LimitPlace)> {
    let per_file = Resource::ALL.into_iter().filter(|resource| resource.is_limited_per_file());
    let of_file = |resource: Resource| (resource.name().to_owned(), LimitPlace::File(resource));
    let of_user =
        |resource: Resource| (format!("{USER}{}", resource.name()), LimitPlace::User(resource));
    let of_each = per_file.map(of_file).chain(Resource::ALL.into_iter().map(of_user));
    of_each.chain([(ALL_BYTES.to_owned(), LimitPlace::AllBytes)])
}

impl Limit {
    /// Reads `NAME=NUMBER`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (name, most) = text.split_once('=').ok_or("a limit is written as NAME=NUMBER")?;
        let known = places().find(|(known, _)| known == name);
        let (_, place) = known.ok_or_else(|| {
            let names: Vec<_> = places().map(|(name, _)| name).collect();
            format!("there is no limit '{name}', but {}", names.join(", "))
        })?;
        let most = most.parse().map_err(|error| format!("'{most}' is no number: {error}"))?;
        Ok(Self { place, most })
    }
}

/// The limits that are meant by these, the last of a name before all others. What all users may have is no
/// less than the limit of one, unless it is given itself.
pub(crate) fn limits(wanted: &[Limit]) -> Limits {
    let mut limits = default_limits();
    for Limit { place, most } in wanted {
        *place.of(&mut limits) = *most;
    }
    if wanted.iter().all(|limit| limit.place != LimitPlace::AllBytes) {
        limits.all_bytes = limits.all_bytes.max(limits.per_user[Resource::Bytes]);
    }
    limits
}

impl LimitPlace {
    fn of(self, limits: &mut Limits) -> &mut usize {
        match self {
            Self::File(resource) => &mut limits.per_file[resource],
            Self::User(resource) => &mut limits.per_user[resource],
            Self::AllBytes => &mut limits.all_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_sets_a_limit_of_its_own() {
        let wanted: Vec<Limit> = (places().zip(1..))
            .map(|((name, _), most)| Limit::parse(&format!("{name}={most}")).unwrap())
            .collect();
        let mut set = limits(&wanted);
        let read: Vec<usize> = places().map(|(_, place)| *place.of(&mut set)).collect();
        assert_eq!(read, (1..=wanted.len()).collect::<Vec<_>>());
        assert_eq!(limits(&[]), default_limits());
    }

    #[test]
    fn the_last_of_a_name_counts() {
        let wanted = ["nodes=7", "nodes=8"].map(|text| Limit::parse(text).unwrap());
        assert_eq!(limits(&wanted).per_file[Resource::Nodes], 8);
    }

    #[test]
    fn all_users_may_have_what_one_may_unless_it_is_said() {
        let all_bytes = |texts: &[&str]| {
            let wanted: Vec<_> = texts.iter().map(|text| Limit::parse(text).unwrap()).collect();
            limits(&wanted).all_bytes
        };
        let more = default_limits().all_bytes + 1;
        assert_eq!(all_bytes(&[&format!("user-bytes={more}")]), more);
        assert_eq!(all_bytes(&["user-bytes=1"]), more - 1);
        assert_eq!(all_bytes(&["all-bytes=7", "user-bytes=8"]), 7);
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
