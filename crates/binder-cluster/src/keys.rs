//! The keys and values of the store.
//!
//! Others may have written anything there, so all that is read is checked: bounded, of a version that is known,
//! and of an address that can be one.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;

/// The bytes of a name at most, as service managers have it.
const NAME_MAX_BYTES: usize = 127;
/// The bytes of a host's name at most, as DNS has it.
const HOST_MAX_BYTES: usize = 253;
/// The bytes of a value at most.
const VALUE_MAX_BYTES: usize = 1024;
/// What a value begins with: whose it is, and its version.
const VALUE_HEAD: &str = "anybinder 1";

/// How many machines serve a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Ownership {
    /// One at a time, its owner; others that have such a service take over when it is gone.
    #[default]
    Single,
    /// Each that has such a service.
    Many,
}

/// Where a machine's gateway is to be found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MachineAddress {
    host: String,
    port: u16,
}

/// A text that is no address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an address is tls://HOST:PORT")]
pub struct AddressError;

impl MachineAddress {
    /// The host, by its name or number; its certificate is for that.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl FromStr for MachineAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let rest = text.strip_prefix("tls://").ok_or(AddressError)?;
        let (host, port) = rest.rsplit_once(':').ok_or(AddressError)?;
        let in_brackets = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        let is_number = |byte: u8| byte.is_ascii_hexdigit() || b":.".contains(&byte);
        let (host, is_valid) = match in_brackets {
            Some(host) => (host, host.bytes().all(is_number)),
            None => (host, host.bytes().all(is_name)),
        };
        let port = port.parse().ok().filter(|port| *port != 0).ok_or(AddressError)?;
        if host.is_empty() || host.len() > HOST_MAX_BYTES || !is_valid {
            return Err(AddressError);
        }
        let address = Self { host: host.to_owned(), port };
        // One address has one text, so that keys can be compared.
        if address.to_string() == text { Ok(address) } else { Err(AddressError) }
    }
}

impl fmt::Display for MachineAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "tls://[{}]:{}", self.host, self.port)
        } else {
            write!(f, "tls://{}:{}", self.host, self.port)
        }
    }
}

/// The key of a name, or of one machine's instance of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServiceKey {
    /// The name.
    pub name: String,
    /// Whose instance it is; `None` of a name with one owner.
    pub instance: Option<MachineAddress>,
}

/// A key or a value that is none of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClaimError {
    /// Longer than any of ours.
    #[error("{0} bytes, of at most {VALUE_MAX_BYTES}")]
    TooLong(usize),
    /// Not a text.
    #[error("it is not a text")]
    NotText,
    /// It names no service.
    #[error("it names no service")]
    NoName,
    /// Of another program, or a later version.
    #[error("it does not begin with '{VALUE_HEAD}'")]
    Version,
    /// It lacks a line, or has one twice.
    #[error("it has not one line '{0}'")]
    Line(&'static str),
    /// It has no address.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The instance's key has another address than its value.
    #[error("its key is another machine's")]
    OtherMachine,
}

impl ServiceKey {
    /// The key by which this machine serves a name.
    #[must_use]
    pub fn of(name: &str, ownership: Ownership, machine: &MachineAddress) -> Self {
        let instance = match ownership {
            Ownership::Single => None,
            Ownership::Many => Some(machine.clone()),
        };
        Self { name: name.to_owned(), instance }
    }

    /// Whether one machine serves the name, or many.
    #[must_use]
    pub fn ownership(&self) -> Ownership {
        if self.instance.is_none() { Ownership::Single } else { Ownership::Many }
    }

    /// Reads a key, without the prefix that all have.
    ///
    /// # Errors
    ///
    /// [`ClaimError`] for a key that is none of ours.
    pub fn parse(key: &[u8]) -> Result<Self, ClaimError> {
        if key.len() > VALUE_MAX_BYTES {
            return Err(ClaimError::TooLong(key.len()));
        }
        let key = core::str::from_utf8(key).map_err(|_| ClaimError::NotText)?;
        let (name, instance) = match key.split_once(':').ok_or(ClaimError::NoName)? {
            ("one", name) => (name, None),
            ("many", rest) => {
                let (name, machine) = rest.split_once(':').ok_or(ClaimError::NoName)?;
                (name, Some(machine.parse()?))
            }
            _ => return Err(ClaimError::NoName),
        };
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
        if !(1..=NAME_MAX_BYTES).contains(&name.len()) || !name.bytes().all(is_plain) {
            return Err(ClaimError::NoName);
        }
        Ok(Self { name: name.to_owned(), instance })
    }
}

impl fmt::Display for ServiceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.instance {
            None => write!(f, "one:{}", self.name),
            Some(machine) => write!(f, "many:{}:{machine}", self.name),
        }
    }
}

/// What a machine says of a name that it serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Where it serves it.
    pub address: MachineAddress,
    /// Since when, in seconds of the machine's own clock since 1970: for people.
    pub since_s: u64,
}

impl Claim {
    /// The value that says it: lines, of which readers skip those that they do not know.
    #[must_use]
    pub fn to_value(&self) -> String {
        format!("{VALUE_HEAD}\nat {}\nsince {}\n", self.address, self.since_s)
    }

    /// Reads a value and its key.
    ///
    /// # Errors
    ///
    /// [`ClaimError`] for a value that is none of ours.
    pub fn parse(key: &ServiceKey, value: &[u8]) -> Result<Self, ClaimError> {
        if value.len() > VALUE_MAX_BYTES {
            return Err(ClaimError::TooLong(value.len()));
        }
        let text = core::str::from_utf8(value).map_err(|_| ClaimError::NotText)?;
        let mut lines = text.lines();
        if lines.next() != Some(VALUE_HEAD) {
            return Err(ClaimError::Version);
        }
        let (mut address, mut since) = (None, None);
        for line in lines {
            let once = |slot: &Option<&str>, what| match slot {
                None => Ok(()),
                Some(_) => Err(ClaimError::Line(what)),
            };
            match line.split_once(' ') {
                Some(("at", text)) => {
                    once(&address, "at")?;
                    address = Some(text);
                }
                Some(("since", text)) => {
                    once(&since, "since")?;
                    since = Some(text);
                }
                Some(_) | None => {}
            }
        }
        let address: MachineAddress = address.ok_or(ClaimError::Line("at"))?.parse()?;
        let since = since.and_then(|text| text.parse().ok()).ok_or(ClaimError::Line("since"))?;
        if key.instance.as_ref().is_some_and(|machine| *machine != address) {
            return Err(ClaimError::OtherMachine);
        }
        Ok(Self { address, since_s: since })
    }
}

impl From<&ServiceKey> for String {
    fn from(key: &ServiceKey) -> Self {
        key.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_are_read_as_they_were_written() {
        for address in ["tls://a.example:4000", "tls://[fd00::1]:1", "tls://192.0.2.1:65535"] {
            let address: MachineAddress = address.parse().unwrap();
            for ownership in [Ownership::Single, Ownership::Many] {
                let key = ServiceKey::of("com.example.IFoo/default", ownership, &address);
                assert_eq!(ServiceKey::parse(key.to_string().as_bytes()), Ok(key.clone()));
                let claim = Claim { address: address.clone(), since_s: 17 };
                assert_eq!(Claim::parse(&key, claim.to_value().as_bytes()), Ok(claim));
            }
        }
    }

    #[test]
    fn what_is_none_of_ours_is_refused() {
        for key in ["", "one:", "one:a b", "two:a", "many:a", "many:a:tls://x", "many::tls://x:1"] {
            assert!(ServiceKey::parse(key.as_bytes()).is_err(), "{key}");
        }
        let key = ServiceKey { name: "a".into(), instance: Some("tls://a:1".parse().unwrap()) };
        for (value, error) in [
            ("", ClaimError::Version),
            ("anybinder 2\nat tls://a:1\nsince 1\n", ClaimError::Version),
            ("anybinder 1\nsince 1\n", ClaimError::Line("at")),
            ("anybinder 1\nat tls://a:1\nat tls://a:1\nsince 1\n", ClaimError::Line("at")),
            ("anybinder 1\nat tls://a:1\nsince x\n", ClaimError::Line("since")),
            ("anybinder 1\nat http://a:1\nsince 1\n", ClaimError::Address(AddressError)),
            ("anybinder 1\nat tls://b:1\nsince 1\n", ClaimError::OtherMachine),
        ] {
            assert_eq!(Claim::parse(&key, value.as_bytes()), Err(error), "{value}");
        }
        for address in [
            "",
            "tls://",
            "tls://a",
            "tls://a:0",
            "tls://a:65536",
            "tls://a b:1",
            "tls://[x]:1",
            "tls://a:01",
            "tls://[1.2.3.4]:1",
        ] {
            assert!(address.parse::<MachineAddress>().is_err(), "{address}");
        }
    }
}
