//! The rules by which users may register, find and list services.

use std::fmt;

use crate::request::CallingContext;

/// What an access rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessAction {
    /// To register a service, and to hear of its clients.
    Add,
    /// To find a service, and to hear of its registration.
    Find,
    /// To list all names.
    List,
    /// To call a service from another machine, which finds it by its name.
    Call,
}

/// The access rules of a manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessPolicy {
    /// The user of this number, and root, may do everything; others nothing.
    SameUser(u32),
    /// Every caller may do everything.
    AllowAll,
    /// What the rules of a file allow, and nothing else.
    Rules(Vec<AccessRule>),
}

/// A line of a policy: it allows a subject some actions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessRule {
    actions: Vec<AccessAction>,
    who: RuleSubject,
    names: Glob,
}

/// The users or machines that a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
enum RuleSubject {
    Everybody,
    User(u32),
    Label(Glob),
    /// Another machine, by what its certificate says: a URI or a host's name.
    Machine(Glob),
}

/// A pattern in which `*` stands for any text, and `?` for one character.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Glob(String);

/// A line that is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct PolicyError {
    /// Its number, from 1 on.
    pub line: usize,
    /// The error.
    pub what: String,
}

impl AccessPolicy {
    /// Reads a policy: lines `allow ACTIONS WHO [NAMES]`, with `#` before comments.
    ///
    /// ACTIONS are `add`, `find`, `list`, `call`, with commas between them, or `*`; WHO is `uid=NUMBER`, `label=PATTERN`,
    /// `machine=PATTERN` or `*`, which is every user of this machine; NAMES is a pattern of names, `*` if it is left out,
    /// and says nothing of `list`.
    ///
    /// # Errors
    ///
    /// [`PolicyError`] of the first line that is no rule.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        let rules = text.lines().enumerate().filter_map(|(at, line)| {
            let line = line.split('#').next().unwrap_or_default().trim();
            let complain = |what| PolicyError { line: at + 1, what };
            (!line.is_empty()).then(|| AccessRule::parse(line).map_err(complain))
        });
        rules.collect::<Result<_, _>>().map(Self::Rules)
    }

    /// Whether the caller may do that to services of a name.
    #[must_use]
    pub fn permits(&self, caller: &CallingContext, action: AccessAction, name: &str) -> bool {
        match self {
            Self::AllowAll => true,
            Self::SameUser(uid) => caller.uid == *uid || caller.uid == 0,
            Self::Rules(rules) => rules.iter().any(|rule| rule.permits(caller, action, name)),
        }
    }

    /// Whether a machine, by one of these identities, may do that to services of a name. A rule of `*` is of none.
    #[must_use]
    pub fn permits_machine(&self, identities: &[String], action: AccessAction, name: &str) -> bool {
        match self {
            Self::AllowAll => true,
            Self::SameUser(_) => false,
            Self::Rules(rules) => rules.iter().any(|rule| {
                let is_meant = |identity: &String| match &rule.who {
                    RuleSubject::Machine(glob) => glob.matches(identity),
                    RuleSubject::Everybody | RuleSubject::User(_) | RuleSubject::Label(_) => false,
                };
                rule.is_about(action, name) && identities.iter().any(is_meant)
            }),
        }
    }

    /// The users of this machine whom a rule names that allows that with services of a name.
    pub fn users(&self, action: AccessAction, name: &str) -> impl Iterator<Item = u32> {
        let rules = match self {
            Self::Rules(rules) => &rules[..],
            Self::AllowAll | Self::SameUser(_) => &[],
        };
        rules.iter().filter(move |rule| rule.is_about(action, name)).filter_map(|it| match it.who {
            RuleSubject::User(uid) => Some(uid),
            RuleSubject::Everybody | RuleSubject::Label(_) | RuleSubject::Machine(_) => None,
        })
    }

    /// Whether there is a machine that may call services of a name.
    #[must_use]
    pub fn shares(&self, name: &str) -> bool {
        match self {
            Self::AllowAll => true,
            Self::SameUser(_) => false,
            Self::Rules(rules) => rules.iter().any(|rule| {
                matches!(rule.who, RuleSubject::Machine(_))
                    && rule.is_about(AccessAction::Call, name)
            }),
        }
    }

    /// Whether callers have to show their security label.
    #[must_use]
    pub fn wants_labels(&self) -> bool {
        match self {
            Self::SameUser(_) | Self::AllowAll => false,
            Self::Rules(rules) => {
                rules.iter().any(|rule| matches!(rule.who, RuleSubject::Label(_)))
            }
        }
    }
}

impl AccessRule {
    fn parse(line: &str) -> Result<Self, String> {
        let words: Vec<_> = line.split_whitespace().collect();
        let (actions, who, names) = match words[..] {
            ["allow", actions, who] => (actions, who, "*"),
            ["allow", actions, who, names] => (actions, who, names),
            _ => return Err("a rule is `allow ACTIONS WHO [NAMES]`".into()),
        };
        let actions = if actions == "*" {
            vec![AccessAction::Add, AccessAction::Find, AccessAction::List, AccessAction::Call]
        } else {
            actions.split(',').map(action).collect::<Result<_, _>>()?
        };
        Ok(Self { actions, who: subject(who)?, names: Glob(names.to_owned()) })
    }

    fn permits(&self, caller: &CallingContext, action: AccessAction, name: &str) -> bool {
        let is_meant = match &self.who {
            RuleSubject::Everybody => true,
            RuleSubject::User(uid) => caller.uid == *uid,
            RuleSubject::Label(glob) => caller.label.as_deref().is_some_and(|it| glob.matches(it)),
            RuleSubject::Machine(_) => false,
        };
        is_meant && self.is_about(action, name)
    }

    fn is_about(&self, action: AccessAction, name: &str) -> bool {
        let is_named = action == AccessAction::List || self.names.matches(name);
        is_named && self.actions.contains(&action)
    }
}

fn action(word: &str) -> Result<AccessAction, String> {
    match word {
        "add" => Ok(AccessAction::Add),
        "find" => Ok(AccessAction::Find),
        "list" => Ok(AccessAction::List),
        "call" => Ok(AccessAction::Call),
        _ => Err(format!("'{word}' is none of add, find, list, call, *")),
    }
}

fn subject(word: &str) -> Result<RuleSubject, String> {
    if word == "*" {
        return Ok(RuleSubject::Everybody);
    }
    match word.split_once('=') {
        Some(("uid", number)) => {
            let uid = number.parse().map_err(|_| format!("'{number}' is no user's number"))?;
            Ok(RuleSubject::User(uid))
        }
        Some(("label", pattern)) => Ok(RuleSubject::Label(Glob(pattern.to_owned()))),
        Some(("machine", pattern)) => Ok(RuleSubject::Machine(Glob(pattern.to_owned()))),
        Some(_) | None => {
            Err(format!("'{word}' is none of uid=NUMBER, label=PATTERN, machine=PATTERN, *"))
        }
    }
}

impl Glob {
    /// Whether it matches all of `text`, in time that grows with the product of both lengths at most.
    fn matches(&self, text: &str) -> bool {
        let (pattern, text) = (self.0.as_bytes(), text.as_bytes());
        let (mut at, mut place) = (0, 0);
        // Behind the last star, and what that has to match at least.
        let mut retry = None;
        while place < text.len() {
            match pattern.get(at) {
                Some(b'*') => {
                    retry = Some((at + 1, place));
                    at += 1;
                }
                Some(&byte) if byte == b'?' || byte == text[place] => {
                    at += 1;
                    place += 1;
                }
                Some(_) | None => match retry {
                    Some((behind, begun)) => {
                        retry = Some((behind, begun + 1));
                        (at, place) = (behind, begun + 1);
                    }
                    None => return false,
                },
            }
        }
        pattern[at..].iter().all(|byte| *byte == b'*')
    }
}

impl fmt::Display for AccessAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Add => "add",
            Self::Find => "find",
            Self::List => "list",
            Self::Call => "call",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(uid: u32, label: Option<&str>) -> CallingContext {
        CallingContext { pid: 1, uid, label: label.map(str::to_owned) }
    }

    #[test]
    fn the_same_user_and_root_may_do_everything() {
        let policy = AccessPolicy::SameUser(1000);
        for (uid, is_permitted) in [(1000, true), (0, true), (1001, false)] {
            assert_eq!(policy.permits(&caller(uid, None), AccessAction::Add, "x"), is_permitted);
        }
        assert!(AccessPolicy::AllowAll.permits(&caller(5, None), AccessAction::List, ""));
    }

    #[test]
    fn rules_allow_and_nothing_else_does() {
        let policy = AccessPolicy::parse(
            "# who may what\n\
             allow add,find uid=1000 com.example.*   # ours\n\
             \n\
             allow list *\n\
             allow find label=u:r:app_?:* *\n\
             allow * uid=7\n",
        )
        .unwrap();
        let me = caller(1000, None);
        assert!(policy.permits(&me, AccessAction::Add, "com.example.IFoo/default"));
        assert!(!policy.permits(&me, AccessAction::Add, "com.other.IFoo"));
        assert!(policy.permits(&me, AccessAction::List, ""));
        assert!(!policy.permits(&caller(1, None), AccessAction::Find, "com.example.x"));
        assert!(policy.permits(&caller(1, Some("u:r:app_1:s0")), AccessAction::Find, "x"));
        assert!(!policy.permits(&caller(1, Some("u:r:app_12:s0")), AccessAction::Find, "x"));
        assert!(policy.permits(&caller(7, None), AccessAction::Add, "anything"));
        assert!(policy.wants_labels());
        assert!(!AccessPolicy::parse("allow find uid=1").unwrap().wants_labels());
    }

    #[test]
    fn other_machines_have_rules_of_their_own() {
        let policy = AccessPolicy::parse(
            "allow * *\n\
             allow call machine=spiffe://here/* com.example.*\n\
             allow add,find machine=*.example com.*\n",
        )
        .unwrap();
        let permits = |identity: &str, action, name| {
            policy.permits_machine(&["x".into(), identity.into()], action, name)
        };
        assert!(permits("spiffe://here/a", AccessAction::Call, "com.example.a"));
        assert!(!permits("spiffe://there/a", AccessAction::Call, "com.example.a"));
        assert!(!permits("spiffe://here/a", AccessAction::Call, "com.other"));
        assert!(permits("b.example", AccessAction::Add, "com.other"));
        assert!(policy.shares("com.example.a") && !policy.shares("com.other"));
        assert!(!AccessPolicy::SameUser(0).shares("x") && AccessPolicy::AllowAll.shares("x"));
    }

    #[test]
    fn the_users_of_rules_are_those_that_they_name() {
        let policy = AccessPolicy::parse(
            "allow * *\n\
             allow call uid=1000 com.example.*\n\
             allow find,call uid=1001\n\
             allow add uid=1002 com.*\n\
             allow call machine=* com.*\n",
        )
        .unwrap();
        let users = |action, name| policy.users(action, name).collect::<Vec<_>>();
        assert_eq!(users(AccessAction::Call, "com.example.a"), [1000, 1001]);
        assert_eq!(users(AccessAction::Call, "com.other"), [1001]);
        assert_eq!(users(AccessAction::Add, "com.other"), [1002]);
        assert_eq!(AccessPolicy::AllowAll.users(AccessAction::Call, "x").count(), 0);
    }

    #[test]
    fn a_line_that_is_no_rule_is_named() {
        for (text, line) in [
            ("allow find", 1),
            ("\nallow see *", 2),
            ("allow find user=3", 1),
            ("allow find uid=me", 1),
            ("deny find *", 1),
            ("allow find * a b", 1),
        ] {
            assert_eq!(AccessPolicy::parse(text).unwrap_err().line, line, "{text}");
        }
    }

    #[test]
    fn patterns_match_all_of_a_text() {
        for (pattern, text, matches) in [
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("a*c", "abbc", true),
            ("a*c", "abbcd", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*ab", "aab", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("**", "abc", true),
        ] {
            assert_eq!(Glob(pattern.into()).matches(text), matches, "{pattern} {text}");
        }
    }
}
