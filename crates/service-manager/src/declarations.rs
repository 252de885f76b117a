//! Services that the system says there are, running or not: what Android has in its VINTF manifest.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::request::ServiceAddress;

/// Declared services, by their names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Declarations(BTreeMap<String, Declaration>);

/// The facts of a declared service.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Declaration {
    /// The APEX that brings updates of it.
    pub updatable_via_apex: Option<String>,
    /// Where it listens for RPC Binder.
    pub address: Option<ServiceAddress>,
    /// The name of the service that opens connections to it.
    pub accessor: Option<String>,
    /// How its instances on several machines are used; one machine at a time has it if nothing is said.
    pub balancing: Option<Balancing>,
}

/// Which of a service's instances on several machines a call goes to. Their roots have no state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Balancing {
    /// The same as the call before, as long as that is there.
    PickFirst,
    /// The next.
    RoundRobin,
    /// The one that has the fewest calls of this machine.
    LeastBusy,
}

impl FromStr for Balancing {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "pick-first" => Ok(Self::PickFirst),
            "round-robin" => Ok(Self::RoundRobin),
            "least-busy" => Ok(Self::LeastBusy),
            _ => Err(format!("'{word}' is none of pick-first, round-robin, least-busy")),
        }
    }
}

impl fmt::Display for Balancing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PickFirst => "pick-first",
            Self::RoundRobin => "round-robin",
            Self::LeastBusy => "least-busy",
        })
    }
}

/// A line that declares nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct DeclarationError {
    /// Its number, from 1 on.
    pub line: usize,
    /// The error.
    pub what: String,
}

impl Declarations {
    /// Reads declarations: lines `NAME [apex=NAME] [address=IP:PORT] [accessor=NAME] [instances=BALANCING]`, with `#` before comments.
    ///
    /// # Errors
    ///
    /// [`DeclarationError`] of the first line that declares nothing, or anew.
    pub fn parse(text: &str) -> Result<Self, DeclarationError> {
        let mut declared = BTreeMap::new();
        for (at, line) in text.lines().enumerate() {
            let complain = |what| DeclarationError { line: at + 1, what };
            let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
            let Some(name) = words.next() else { continue };
            let mut declaration = Declaration::default();
            words.try_for_each(|word| declaration.note(word)).map_err(complain)?;
            if declared.insert(name.to_owned(), declaration).is_some() {
                return Err(complain(format!("'{name}' is declared twice")));
            }
        }
        Ok(Self(declared))
    }

    /// The facts of the service of that name, if it is declared.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Declaration> {
        self.0.get(name)
    }

    /// How many services are declared.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing is declared.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The declared instances of an interface: what stands behind the slash of their names.
    pub fn instances<'d>(&'d self, interface: &str) -> impl Iterator<Item = &'d str> {
        let names = self.0.keys().filter_map(|name| name.split_once('/'));
        names.filter(move |(of, _)| *of == interface).map(|(_, instance)| instance)
    }

    /// The declared services that an APEX brings updates of.
    pub fn updatable_via(&self, apex: &str) -> impl Iterator<Item = &str> {
        let is_meant = move |declaration: &Declaration| {
            declaration.updatable_via_apex.as_deref() == Some(apex)
        };
        let declared = self.0.iter().filter(move |(_, declaration)| is_meant(declaration));
        declared.map(|(name, _)| name.as_str())
    }
}

impl Declaration {
    fn note(&mut self, word: &str) -> Result<(), String> {
        match word.split_once('=') {
            Some(("apex", name)) => self.updatable_via_apex = Some(name.to_owned()),
            Some(("accessor", name)) => self.accessor = Some(name.to_owned()),
            Some(("address", place)) => self.address = Some(address(place)?),
            Some(("instances", word)) => self.balancing = Some(word.parse()?),
            Some(_) | None => {
                return Err(format!(
                    "'{word}' is none of apex=NAME, address=IP:PORT, accessor=NAME, instances=BALANCING"
                ));
            }
        }
        Ok(())
    }
}

fn address(place: &str) -> Result<ServiceAddress, String> {
    let wrong = || format!("'{place}' is not IP:PORT");
    let (ip, port) = place.rsplit_once(':').ok_or_else(wrong)?;
    let port = port.parse().map_err(|_| wrong())?;
    Ok(ServiceAddress { ip: ip.to_owned(), port })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_declared_is_found() {
        let declared = Declarations::parse(
            "# of this machine\n\
             a.b.IFoo/default apex=com.x\n\
             a.b.IFoo/other address=::1:99\n\
             a.b.IBar/default accessor=a.b.IBar/accessor apex=com.x\n\
             plain instances=round-robin\n",
        )
        .unwrap();
        assert_eq!(declared.instances("a.b.IFoo").collect::<Vec<_>>(), ["default", "other"]);
        assert_eq!(declared.instances("a.b").count(), 0);
        let updated: Vec<_> = declared.updatable_via("com.x").collect();
        assert_eq!(updated, ["a.b.IBar/default", "a.b.IFoo/default"]);
        let address = declared.get("a.b.IFoo/other").and_then(|it| it.address.clone());
        assert_eq!(address, Some(ServiceAddress { ip: "::1".into(), port: 99 }));
        assert_eq!(declared.get("plain").unwrap().balancing, Some(Balancing::RoundRobin));
        assert!(declared.get("plain").is_some() && declared.get("plane").is_none());
    }

    #[test]
    fn a_line_that_declares_nothing_is_named() {
        for (text, line) in [
            ("a\na", 2),
            ("a port=3", 1),
            ("a address=x", 1),
            ("a address=x:y", 1),
            ("a instances=3", 1),
            ("\na b", 2),
        ] {
            assert_eq!(Declarations::parse(text).unwrap_err().line, line, "{text}");
        }
    }
}
