//! Names and types of methods, by their interfaces and codes.
//!
//! AIDL numbers the methods of an interface from 1 on in the order in which they are declared, or one more than the
//! number behind their names (`= 10;`). A code map is a text of lines with an interface, a code and a name each.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use binder_aidl::{MethodCode, SourceFile, WireCatalog, WireMethod};

use crate::line::printable;
use crate::record::SentRecord;

/// The code of the method that is declared first.
const FIRST_CALL: u32 = 1;

/// Codes that all objects of Android's libraries know; the last two, interfaces with a version.
const COMMON: [(&[u8; 4], &str); 8] = [
    (b"_PNG", "ping"),
    (b"_DMP", "dump"),
    (b"_CMD", "shell"),
    (b"_NTF", "interface"),
    (b"_SPR", "sysprops"),
    (b"_EXT", "extension"),
    (b"\0\xff\xff\xff", "getInterfaceVersion"),
    (b"\0\xff\xff\xfe", "getInterfaceHash"),
];

/// A line of a code map that is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadCodeMap {
    /// Its number, from 1 on.
    pub line: usize,
}

impl core::fmt::Display for BadCodeMap {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "line {} is not an interface, a code and a name", self.line)
    }
}

impl core::error::Error for BadCodeMap {}

/// The names of methods, and the types of those whose sources were read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MethodNames {
    names: BTreeMap<String, BTreeMap<u32, String>>,
    catalog: WireCatalog,
}

/// The names of a call's interface and method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Naming<'a> {
    /// The interface, where it shows.
    pub interface: Option<&'a str>,
    /// The method, where it is known.
    pub method: Option<&'a str>,
    /// The code.
    pub code: u32,
}

impl Naming<'_> {
    /// The name of the method, or its code.
    pub fn method_words(&self) -> Cow<'_, str> {
        self.method.map_or_else(|| Cow::Owned(format!("code {}", self.code)), Cow::Borrowed)
    }
}

impl core::fmt::Display for Naming<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // A recording may name an interface by anything, and this goes to terminals.
        let interface = self.interface.map(printable);
        match (interface, self.method) {
            (Some(interface), Some(method)) => write!(f, "{interface}.{method}"),
            (Some(interface), None) => write!(f, "{interface} code {}", self.code),
            (None, Some(method)) => f.write_str(method),
            (None, None) => write!(f, "code {}", self.code),
        }
    }
}

impl MethodNames {
    /// The names of a call's interface and method.
    pub fn naming<'a>(&'a self, sent: &'a SentRecord) -> Naming<'a> {
        let (interface, code) = (sent.interface.as_deref(), sent.code);
        let known = interface.and_then(|interface| self.names.get(interface)?.get(&code));
        // Methods that all versioned interfaces have.
        let typed = self.types(sent).map(|method| method.name.as_str());
        let common = || {
            let letters = code.to_be_bytes();
            COMMON.iter().find(|(of, _)| **of == letters).map(|(_, name)| *name)
        };
        Naming { interface, method: known.map(String::as_str).or(typed).or_else(common), code }
    }

    /// Adds one method.
    pub fn add(&mut self, interface: &str, code: u32, method: &str) {
        self.names.entry(interface.into()).or_default().insert(code, method.into());
    }

    /// Adds the methods of a code map. Empty lines do not count, nor the rest of a line behind a `#`.
    ///
    /// # Errors
    ///
    /// [`BadCodeMap`] with the first line that is none; those before it are added.
    pub fn add_code_map(&mut self, text: &str) -> Result<(), BadCodeMap> {
        for (line, words) in (1..).zip(text.lines()) {
            let words = words.split('#').next().unwrap_or_default();
            let words: Vec<_> = words.split_whitespace().collect();
            match words[..] {
                [] => {}
                [interface, code, method] => {
                    let code = code.parse().map_err(|_| BadCodeMap { line })?;
                    self.add(interface, code, method);
                }
                _ => return Err(BadCodeMap { line }),
            }
        }
        Ok(())
    }

    /// Reads AIDL sources, given as paths and texts. Returns, too, the mistakes of sources that do not parse: their
    /// methods are named as far as they can be read, but types that they define are not known.
    pub fn of_aidl(sources: impl IntoIterator<Item = (String, String)>) -> (Self, Vec<String>) {
        let sources: Vec<_> =
            sources.into_iter().map(|(path, text)| SourceFile::new(path, text)).collect();
        let mut methods = Self::default();
        for source in &sources {
            for MethodCode { interface, method, code, .. } in
                binder_aidl::method_codes(&source.text)
            {
                methods.add(&interface, FIRST_CALL.saturating_add(code), &method);
            }
        }
        let (catalog, mistakes) = WireCatalog::new(sources);
        methods.catalog = catalog;
        (methods, mistakes)
    }

    /// The types of a call's method, if they are known.
    pub(crate) fn types(&self, sent: &SentRecord) -> Option<&WireMethod> {
        let number = sent.code.checked_sub(FIRST_CALL)?;
        self.catalog.method(sent.interface.as_deref()?, number)
    }

    /// The types of the sources.
    pub(crate) fn catalog(&self) -> &WireCatalog {
        &self.catalog
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::record::tests::call;

    fn of(source: &str) -> MethodNames {
        MethodNames::of_aidl([("I.aidl".into(), source.into())]).0
    }

    fn named(names: &MethodNames, interface: &str, code: u32) -> String {
        let sent = SentRecord { interface: Some(interface.into()), code, ..call(1, 1) };
        names.naming(&sent).to_string()
    }

    #[test]
    fn methods_have_the_numbers_that_aidl_gives_them() {
        let names = of("package a.b; // interface IWrong { void no(); }
            /* interface IWrong { void no(); } */
            import a.b.C;
            @VintfStability @Backing(type=\"int(\") interface IThing {
                const int X = 1;
                @nullable String first(in @utf8InCpp List<String> words, int n);
                oneway void second();
                parcelable Inner { int x = 3; }
                interface IInner { void within(); }
                void third(String s);
            }");
        for (interface, code, words) in [
            ("a.b.IThing", 1, "a.b.IThing.first"),
            ("a.b.IThing", 2, "a.b.IThing.second"),
            ("a.b.IThing", 3, "a.b.IThing.third"),
            ("a.b.IThing", 4, "a.b.IThing code 4"),
            ("a.b.IThing.IInner", 1, "a.b.IThing.IInner.within"),
            ("a.b.IWrong", 1, "a.b.IWrong code 1"),
            ("a.b.IThing", u32::from_be_bytes(*b"_PNG"), "a.b.IThing.ping"),
            ("a.b.IThing", 16_777_215, "a.b.IThing.getInterfaceVersion"),
        ] {
            assert_eq!(named(&names, interface, code), words);
        }
    }

    #[test]
    fn a_method_may_have_a_number_of_its_own() {
        let names = of("interface I { void a() = 10; int b(int x) = 3; }");
        assert_eq!([named(&names, "I", 11), named(&names, "I", 4)], ["I.a", "I.b"]);
    }

    #[test]
    fn sources_that_end_anywhere_are_read_as_far_as_they_go() {
        let source =
            "package p; @A(b=\"c\") interface I { parcelable P { int x; } void a(int b); }";
        for end in 0..=source.len() {
            of(&source[..end]);
        }
        of("interface I { = ) ( ; } } { @ (");
    }

    #[test]
    fn a_name_does_not_act_on_the_terminal() {
        assert_eq!(named(&MethodNames::default(), "a.\u{1b}[2JI", 7), "a.[2JI code 7");
    }

    #[test]
    fn code_maps_name_methods_too() {
        let mut names = MethodNames::default();
        names.add_code_map("# a comment\n\na.I 1 one # first\na.I 2 two\n").unwrap();
        assert_eq!(named(&names, "a.I", 2), "a.I.two");
        assert_eq!(names.add_code_map("a.I 1 one\na.I x two"), Err(BadCodeMap { line: 2 }));
        assert_eq!(names.add_code_map("a.I 1"), Err(BadCodeMap { line: 1 }));
    }
}
