//! As which user of this machine a user of another machine calls: a table that is the same on all machines, signed by
//! one who may say so for all of them.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use binder::transport::CallerIdentity;
use binder::transport::rpc::{TlsCredentials, certificate_names};
use binder_os::acting_user::ActingUser;
use ring::signature::{ED25519, UnparsedPublicKey};
use rustls_pki_types::SubjectPublicKeyInfoDer;
use rustls_pki_types::pem::PemObject as _;

use service_manager::{AccessAction, AccessPolicy};

use crate::options::{ClusterError, UserOptions, failed, read};

/// The user that has no rights.
const NOBODY: u32 = 65_534;
/// What a public key of Ed25519 begins with, before its 32 bytes (RFC 8410).
const ED25519_HEAD: [u8; 12] =
    [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
/// Of how many sessions the machine is remembered.
const KNOWN_MAX: usize = 256;

/// Which users of machines are the same person.
#[derive(Debug, Default, PartialEq, Eq)]
struct UserTable {
    /// The name of who has a uid at a machine, by machines.
    names: HashMap<String, HashMap<u32, String>>,
    /// The uid of a name at a machine, by names.
    uids: HashMap<String, HashMap<String, u32>>,
}

/// Why a line of the table is none.
#[derive(Debug, PartialEq, Eq)]
struct BadLine {
    number: usize,
    reason: &'static str,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.number, self.reason)
    }
}

impl UserTable {
    /// Reads lines of a name, a machine and a uid there.
    fn parse(text: &str) -> Result<Self, BadLine> {
        let mut table = Self::default();
        for (at, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                table.add(line).map_err(|reason| BadLine { number: at + 1, reason })?;
            }
        }
        Ok(table)
    }

    fn add(&mut self, line: &str) -> Result<(), &'static str> {
        let words: Vec<_> = line.split_whitespace().collect();
        let [name, machine, uid] = words[..] else {
            return Err("it is not a name, a machine and a uid");
        };
        let uid = uid.parse().map_err(|_| "its uid is no number")?;
        if uid == u32::MAX {
            return Err("its uid is no user's");
        }
        let names = self.names.entry(machine.to_owned()).or_default();
        if names.insert(uid, name.to_owned()).is_some() {
            return Err("its uid is that of an earlier line");
        }
        let uids = self.uids.entry(name.to_owned()).or_default();
        if uids.insert(machine.to_owned(), uid).is_some() {
            return Err("its name has a uid at that machine");
        }
        Ok(())
    }

    /// The uid that a user of `theirs` has here; a machine is known by any of its names. Root is of its machine: it has no
    /// user elsewhere, and no user of another machine becomes root here.
    fn map(&self, theirs: &[String], uid: u32, ours: &[String]) -> Option<u32> {
        if uid == 0 {
            return None;
        }
        let name = theirs.iter().find_map(|machine| self.names.get(machine)?.get(&uid))?;
        let uids = self.uids.get(name)?;
        ours.iter().find_map(|machine| uids.get(machine)).copied().filter(|&uid| uid != 0)
    }
}

type NamesByCertificate = HashMap<Arc<[u8]>, Arc<[String]>>;

/// Which users of another machine may do something here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PermittedUsers {
    /// All that it has.
    All,
    /// Those who are these users here.
    Only(Vec<u32>),
}

impl PermittedUsers {
    /// Whether the caller is among them, whose user here is `user`, or none.
    pub(crate) fn include(&self, user: Option<u32>) -> bool {
        match self {
            Self::All => true,
            Self::Only(users) => user.is_some_and(|user| users.contains(&user)),
        }
    }
}

impl fmt::Display for PermittedUsers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Only(users) = self else { return f.write_str("*") };
        for (at, uid) in users.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{uid}")?;
        }
        Ok(())
    }
}

impl FromStr for PermittedUsers {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "*" => Ok(Self::All),
            users => users.split(',').map(str::parse).collect::<Result<_, _>>().map(Self::Only),
        }
    }
}

/// As whom calls of other machines are made here.
#[derive(Debug, Clone)]
pub(crate) struct CallingUsers(Arc<SharedUsers>);

/// The table, and by which names this machine is in it.
#[derive(Debug, PartialEq, Eq)]
struct KnownUsers {
    ours: Vec<String>,
    table: UserTable,
}

#[derive(Debug)]
struct SharedUsers {
    options: UserOptions,
    known_users: RwLock<KnownUsers>,
    /// How often the access rules were read.
    rules_epoch: AtomicU64,
    /// Whether this process may be another user for a call.
    may_act: bool,
    /// The names of machines whose certificates were seen.
    known: Mutex<NamesByCertificate>,
}

impl CallingUsers {
    /// Reads the table, if there is one.
    pub(crate) fn load(
        options: &UserOptions,
        credentials: &TlsCredentials,
    ) -> Result<Self, ClusterError> {
        let may_act = ActingUser::enter(NOBODY).is_ok();
        if !may_act && options.users.is_some() {
            let tried = "making calls as the users of --users";
            return Err(failed(tried)("it takes root, or CAP_SETUID and these users"));
        }
        Ok(Self(Arc::new(SharedUsers {
            options: options.clone(),
            known_users: RwLock::new(KnownUsers {
                ours: certificate_names(credentials.certificate()),
                table: options.table()?,
            }),
            rules_epoch: AtomicU64::new(0),
            may_act,
            known: Mutex::default(),
        })))
    }

    /// Reads the table again, for a machine with these credentials; it stays as it was if it is not good. Says whether users of
    /// peers may be others here now.
    pub(crate) fn read_again(&self, credentials: &TlsCredentials) -> Result<bool, ClusterError> {
        let ours = certificate_names(credentials.certificate());
        let read = KnownUsers { ours, table: self.0.options.table()? };
        let mut known = self.0.known_users.write().unwrap_or_else(PoisonError::into_inner);
        let is_another = *known != read;
        *known = read;
        Ok(is_another)
    }

    /// The access rules are others from here on.
    pub(crate) fn note_rules(&self) {
        self.0.rules_epoch.fetch_add(1, Ordering::Release);
    }

    /// A number that is another once the access rules are.
    pub(crate) fn rules_epoch(&self) -> u64 {
        self.0.rules_epoch.load(Ordering::Acquire)
    }

    /// As which user a call of another machine is made here; `None` where this process can be none but its own.
    pub(crate) fn of(&self, caller: &CallerIdentity) -> Option<u32> {
        if !self.0.may_act {
            return None;
        }
        let told = caller.claimed_uid.zip(caller.certificate.as_ref());
        Some(told.and_then(|(uid, shown)| self.here(shown, uid)).unwrap_or(NOBODY))
    }

    /// Which user here stands for a user of the certificate's machine, if any.
    pub(crate) fn here(&self, certificate: &Arc<[u8]>, uid: u32) -> Option<u32> {
        let theirs = self.names_of(certificate);
        let known = self.0.known_users.read().unwrap_or_else(PoisonError::into_inner);
        known.table.map(&theirs, uid, &known.ours)
    }

    /// Which users of a machine may do that to services of a name: `None` if none may. Rules of users are of those here as whom
    /// they come, by the table.
    pub(crate) fn permitted(
        &self,
        policy: &AccessPolicy,
        machine: &[String],
        action: AccessAction,
        name: &str,
    ) -> Option<PermittedUsers> {
        if policy.permits_machine(machine, action, name) {
            return Some(PermittedUsers::All);
        }
        let users = self.named_by(policy, action, name);
        (!users.is_empty()).then_some(PermittedUsers::Only(users))
    }

    /// The users that rules name whom a user of another machine may be here, each once and in order.
    pub(crate) fn named_by(
        &self,
        policy: &AccessPolicy,
        action: AccessAction,
        name: &str,
    ) -> Vec<u32> {
        if self.0.options.users.is_none() {
            return Vec::new();
        }
        // A user without a line is not meant by a rule for the user `nobody`.
        let named = policy.users(action, name).filter(|uid| ![0, NOBODY].contains(uid));
        named.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The options by which an importer reads the same table.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        self.0.options.arguments()
    }

    fn names_of(&self, certificate: &Arc<[u8]>) -> Arc<[String]> {
        let mut known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(names) = known.get(certificate) {
            return Arc::clone(names);
        }
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        let names: Arc<[String]> = certificate_names(certificate).into();
        known.insert(Arc::clone(certificate), Arc::clone(&names));
        names
    }
}

impl UserOptions {
    fn table(&self) -> Result<UserTable, ClusterError> {
        let (Some(path), Some(key)) = (&self.users, &self.users_key) else {
            return Ok(UserTable::default());
        };
        let understanding = format!("understanding {}", path.display());
        let mut signature = path.clone().into_os_string();
        signature.push(".sig");
        let (text, signature) = (read(path)?, read(signature.as_ref())?);
        let public = public_key(&read(key)?).ok_or(()).map_err(|()| {
            failed(format!("understanding {}", key.display()))("it is no public key of Ed25519")
        })?;
        let is_signed = UnparsedPublicKey::new(&ED25519, public).verify(&text, &signature);
        is_signed
            .map_err(|_| failed(understanding.as_str())("its signature is not of --users-key"))?;
        let text = String::from_utf8(text).map_err(failed(understanding.as_str()))?;
        UserTable::parse(&text).map_err(failed(understanding))
    }
}

/// The bytes of a public key (PEM).
fn public_key(pem: &[u8]) -> Option<[u8; 32]> {
    let key = SubjectPublicKeyInfoDer::from_pem_slice(pem).ok()?;
    key.strip_prefix(&ED25519_HEAD)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "# who  where  uid\n\
        alice a.example 1000\n\
        alice spiffe://example.org/b 2000 # there\n\n\
        carol a.example 1001\n\
        root a.example 0\n\
        root spiffe://example.org/b 0\n";

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().copied().map(str::to_owned).collect()
    }

    #[test]
    fn a_user_is_who_has_the_same_name_here() {
        let table = UserTable::parse(TABLE).expect("good");
        let a = names(&["spiffe://example.org/a", "a.example"]);
        let b = names(&["spiffe://example.org/b"]);
        assert_eq!(table.map(&a, 1000, &b), Some(2000));
        assert_eq!(table.map(&b, 2000, &a), Some(1000));
        // One that is not known there, not known here, of a machine that is not known.
        assert_eq!(table.map(&a, 1002, &b), None);
        assert_eq!(table.map(&a, 1001, &b), None);
        assert_eq!(table.map(&names(&["c.example"]), 1000, &b), None);
        assert_eq!(table.map(&a, 0, &b), None, "root is nobody elsewhere");
        let ops = UserTable::parse("ops a 0\nops b 1000").expect("good");
        let (a, b) = (names(&["a"]), names(&["b"]));
        assert_eq!([ops.map(&a, 0, &b), ops.map(&b, 1000, &a)], [None, None], "whatever its name");
    }

    #[test]
    fn permitted_users_are_told_as_they_are() {
        for (users, text) in [
            (PermittedUsers::All, "*"),
            (PermittedUsers::Only(vec![7]), "7"),
            (PermittedUsers::Only(vec![1000, 7]), "1000,7"),
        ] {
            assert_eq!(users.to_string(), text);
            assert_eq!(text.parse(), Ok(users));
        }
        assert!("".parse::<PermittedUsers>().is_err() && "1,x".parse::<PermittedUsers>().is_err());
        let only = PermittedUsers::Only(vec![7]);
        assert_eq!([Some(7), Some(8), None].map(|user| only.include(user)), [true, false, false]);
        assert!(PermittedUsers::All.include(None));
    }

    #[test]
    fn a_table_that_says_two_things_is_none() {
        for (text, number) in [
            ("alice a 1\nbob a 1", 2),
            ("alice a 1\nalice a 2", 2),
            ("\nalice a", 2),
            ("alice a 1 2", 1),
            ("alice a x", 1),
            ("alice a 4294967295", 1),
        ] {
            assert_eq!(UserTable::parse(text).expect_err(text).number, number, "{text}");
        }
    }

    #[test]
    fn only_a_key_of_ed25519_is_one() {
        // As `openssl genpkey -algorithm ed25519 | openssl pkey -pubout` writes it.
        let pem = "-----BEGIN PUBLIC KEY-----\n\
            MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n\
            -----END PUBLIC KEY-----\n";
        assert_eq!(public_key(pem.as_bytes()).expect("one")[..2], [0x19, 0xbf]);
        assert_eq!(public_key(pem.replace("MCowBQYDK2Vw", "MCowBQYDK2Vu").as_bytes()), None);
        assert_eq!(public_key(b"nothing"), None);
    }
}
