//! Each rule of AIDL, broken: what is said, and where.

use crate::{compiled, compiled_with, lines};

/// Compiles the members of a type in `p/X.aidl`, whose first line they are on. What is said loses the file's name.
fn said(head: &str, members: &str) -> Vec<String> {
    let compilation = compiled("p/X.aidl", &format!("package p; {head} X {{\n{members}\n}}"));
    assert!(compilation.generated.is_empty() || !compilation.has_errors());
    lines(&compilation).iter().map(|it| it.replacen("p/X.aidl:", "", 1)).collect()
}

#[track_caller]
fn assert_said(head: &str, members: &str, wanted: &[&str]) {
    let wanted: Vec<String> = wanted
        .iter()
        .map(|it| {
            let (place, message) = it.split_once(' ').unwrap_or((it, ""));
            format!("{place}: error: {message}")
        })
        .collect();
    assert_eq!(said(head, members), wanted, "{head} {{ {members} }}");
}

#[test]
fn what_cannot_be_parsed() {
    for (members, wanted) in [
        ("int x", "3:1 expected `;`, found `}`"),
        ("int = 3;", "2:5 expected a name, found `=`"),
        ("int x = ;", "2:9 expected a value, found `;`"),
        ("List<int x;", "2:10 expected `>`, found `x`"),
        ("int[3 x;", "2:7 expected `]`, found `x`"),
        ("in int x;", "2:1 expected a name, found `in`"),
        ("int x = \"abc;", "2:9 this text has no end"),
        ("int x = 'a;", "2:9 this character has no closing quote"),
        ("int # x;", "2:5 `#` has no meaning here"),
        ("/* ", "2:1 this comment has no end"),
    ] {
        let said = said("parcelable", members);
        let (place, message) = wanted.split_once(' ').unwrap_or_default();
        assert!(said.contains(&format!("{place}: error: {message}")), "{members}: {said:?}");
    }
}

#[test]
fn several_mistakes_are_told_at_once() {
    assert_said(
        "interface",
        "void a(;\nvoid b(Nothing x);\nint c( int);\nvoid d();",
        &["2:8 expected a name, found `;`", "4:11 expected a name, found `)`"],
    );
    assert_said(
        "parcelable",
        "Nothing a;\nint b = true + \"x\";\nNobody c;",
        &[
            "2:1 unknown type `Nothing`",
            "3:16 this operator is for whole numbers, not for a text",
            "4:1 unknown type `Nobody`",
        ],
    );
}

#[test]
fn types() {
    for (members, wanted) in [
        ("Foo x;", "2:1 unknown type `Foo`"),
        ("a.b.Foo x;", "2:1 unknown type `a.b.Foo`"),
        ("X.Foo x;", "2:1 unknown type `X.Foo`"),
        ("void x;", "2:1 a field cannot be `void`"),
        ("Map m;", "2:1 `Map` is for Java only: Rust has no such type"),
        ("CharSequence m;", "2:1 `CharSequence` is for Java only: Rust has no such type"),
        ("FileDescriptor m;", "2:1 `FileDescriptor` is for Java only: Rust has no such type"),
        ("List m;", "2:1 a `List` says of what: `List<T>`"),
        ("List<int> m;", "2:6 a `List` cannot hold a primitive type"),
        ("List<String[]> m;", "2:6 a `List` cannot hold this type"),
        ("List<List<String>> m;", "2:6 a `List` cannot hold this type"),
        ("List<String>[] m;", "2:1 there are no arrays of lists"),
        ("ParcelableHolder[] m;", "2:1 there are no arrays of `ParcelableHolder`"),
        ("void[] m;", "2:1 there are no arrays of `void`"),
        ("String<int> m;", "2:1 `String` has no type parameters"),
        ("int[][] m;", "2:4 an array of several dimensions has fixed lengths"),
        ("int[2][] m;", "2:7 an array of several dimensions has fixed lengths"),
        ("int[0] m;", "2:5 an array cannot have 0 elements"),
        ("int[-1] m;", "2:5 an array cannot have -1 elements"),
        ("int[\"x\"] m;", "2:5 a length is a number, not a text"),
        ("int[2000][2000] m;", "2:1 this array has more than 1048576 elements"),
        ("Y<int> m; parcelable Y<A, B> {}", "2:1 `p.X.Y` has 2 type parameters, not 1"),
        ("Y m; parcelable Y<A> {}", "2:1 `p.X.Y` has 1 type parameters, not 0"),
        (
            "Y<@nullable String> m; parcelable Y<A> {}",
            "2:13 a type parameter cannot stand for this",
        ),
    ] {
        assert_said("parcelable", members, &[wanted]);
    }
    assert_said(
        "parcelable",
        "parcelable Y<T> { T t; }",
        &["2:19 a type parameter stands for a type between `<` and `>` only"],
    );
}

#[test]
fn annotations() {
    for (members, wanted) in [
        ("@Foo int x;", "2:1 AIDL has no annotation `@Foo`"),
        ("@nullable @nullable String x;", "2:11 `@nullable` is given twice"),
        ("@nullable(stack=true) String x;", "2:11 `@nullable` has no parameter `stack`"),
        ("@nullable int x;", "2:1 a primitive type cannot be null"),
        ("@nullable E x; enum E { A }", "2:1 an enumeration cannot be null"),
        ("@nullable ParcelableHolder x;", "2:1 a `ParcelableHolder` cannot be null"),
        (
            "@nullable(heap=true) String x;",
            "2:1 only a parcelable or union can be kept on the heap",
        ),
        ("@utf8InCpp int x;", "2:1 only a `String` can be `@utf8InCpp`"),
        ("@FixedSize int x;", "2:1 `@FixedSize` says nothing here"),
        ("@nullable parcelable Y {}", "2:1 `@nullable` says nothing here"),
        ("@VintfStability parcelable Y {}", "2:1 this is compiled without VINTF stability"),
        ("@Backing(type=\"char\") enum E { A }", "2:1 an enumeration cannot be of this type"),
        ("enum E { @nullable A }", "2:10 `@nullable` says nothing of an enumerator"),
    ] {
        let found = said("parcelable", members);
        let (place, message) = wanted.split_once(' ').unwrap_or_default();
        assert!(found.contains(&format!("{place}: error: {message}")), "{members}: {found:?}");
    }
    for field in ["String s;", "int[] i;", "@nullable Y y; parcelable Y {}", "Y y; parcelable Y {}"]
    {
        let found = said("@FixedSize parcelable", field);
        assert!(found[0].contains("`X` is `@FixedSize`, this field is not"), "{field}: {found:?}");
    }
    assert_said("@FixedSize parcelable", "int[3] i; char c; Y y; @FixedSize parcelable Y {}", &[]);
}

#[test]
fn names() {
    for (head, members, wanted) in [
        ("parcelable", "int a;\nint a;", "3:5 there are two fields `a`"),
        ("union", "int a;\nint a;", "3:5 there are two fields `a`"),
        ("union", "int a;\nint A;", "3:5 `a` and `A` would both be `A` in Rust"),
        ("enum", "A,\nA", "3:1 there are two enumerators `A`"),
        ("interface", "void a();\nvoid a(int x);", "3:6 there are two methods `a`"),
        ("interface", "void a(int x, int x);", "2:19 there are two parameters `x`"),
        ("parcelable", "const int A = 1;\nconst int A = 2;", "3:11 there are two constants `A`"),
        ("parcelable", "enum E { A }\nparcelable E {}", "3:12 `p.X.E` is declared twice"),
        ("parcelable", "parcelable Y<A, A> {}", "2:17 there are two type parameters `A`"),
        ("parcelable", "enum X { A }", "2:6 `X` is within a type `X`"),
        ("parcelable", "int self;", "2:5 `self` cannot be a name in Rust"),
        ("union", "int a; enum Tag { B }", "1:18 `p.X.Tag` is declared twice"),
        (
            "interface",
            "int getInterfaceVersion();",
            "2:5 every interface has a `getInterfaceVersion` of its own",
        ),
        ("parcelable", "union Y<T> { int a; }", "2:7 only parcelables can have type parameters"),
        ("parcelable", "enum E {}", "2:6 the enumeration `E` has no values"),
        ("parcelable", "union Y {}", "2:7 the union `Y` has no fields"),
    ] {
        let found = said(head, members);
        let (place, message) = wanted.split_once(' ').unwrap_or_default();
        assert!(found.contains(&format!("{place}: error: {message}")), "{members}: {found:?}");
    }
}

#[test]
fn an_empty_union_is_one_mistake() {
    assert_said("parcelable", "union Y {}", &["2:7 the union `Y` has no fields"]);
}

#[test]
fn constants() {
    for (members, wanted) in [
        ("const int A = 2147483648;", "2:15 2147483648 does not fit into `int`"),
        ("const byte A = 128;", "2:16 128 does not fit into `byte`"),
        ("const long A = 9223372036854775808;", "2:16 this number does not fit its type"),
        ("const int A = 2147483647 + 1;", "2:15 this number does not fit its type"),
        ("const long A = 1L << 62 * 2;", "2:16 this shifts by more bits than there are"),
        ("const int A = 1 / 0;", "2:15 this divides by zero"),
        ("const int A = 1 % (2 - 2);", "2:15 this divides by zero"),
        ("const int A = 1 << 32;", "2:15 this shifts by more bits than there are"),
        ("const int A = 12ab;", "2:15 this is not a number"),
        ("const int A = \"x\";", "2:15 expected int, found a text"),
        ("const int A = 1.5;", "2:15 expected int, found a number with a fraction"),
        ("const String A = 1;", "2:18 expected String, found a number"),
        ("const String A = \"a\" + 1;", "2:18 this operator is for whole numbers, not for a text"),
        ("const boolean A = 1;", "2:19 expected boolean, found a number"),
        ("const char A = \"x\";", "2:16 expected char, found a text"),
        ("const char A = 'ab';", "2:16 a `char` is exactly one character"),
        (
            "const double A = 1.5 + 1.5;",
            "2:18 this operator is for whole numbers, not for a number with a fraction",
        ),
        ("const float A = 1e300;", "2:17 1e300 does not fit a `float`"),
        ("const double A = 1e999;", "2:18 this number does not fit its type"),
        ("const int A = -\"x\";", "2:15 this operator is for numbers, not for a text"),
        ("const int A = B;", "2:15 no constant `B` is known here"),
        ("const int A = A + 1;", "2:15 `A` needs its own value"),
        ("const int[] A = {1};", "2:7 a constant cannot be of this type"),
        ("const IBinder A = 1;", "2:7 a constant cannot be of this type"),
        ("const String A = \"a\\n\";", "2:18 a text cannot hold `\\\\`"),
        ("const String A = \"\u{e9}\";", "2:18 a text cannot hold `\u{e9}`"),
        ("enum E { A = 127, B }", "2:19 `B` does not fit the enumeration's type"),
        ("enum E { A = 128 }", "2:10 `A` does not fit the enumeration's type"),
        ("enum E { A = \"x\" }", "2:14 an enumerator is a number, not a text"),
    ] {
        let found = said("parcelable", members);
        let (place, message) = wanted.split_once(' ').unwrap_or_default();
        assert!(found.contains(&format!("{place}: error: {message}")), "{members}: {found:?}");
    }
    let found = said("parcelable", "const int A = B;\nconst int B = C;\nconst int C = A;");
    assert_eq!(found, ["4:15: error: `A` needs its own value"]);
    let found = said("parcelable", "enum E { A = B, B }");
    assert_eq!(found, ["2:14: error: `B` needs its own value"]);
}

#[test]
fn default_values() {
    for (members, wanted) in [
        ("int x = \"a\";", "2:9 expected int, found a text"),
        ("int[] x = 1;", "2:11 expected a list in braces, found a number"),
        ("int[] x = {1, \"a\"};", "2:15 expected int, found a text"),
        ("int[2] x = {1};", "2:12 2 values are wanted, not 1"),
        ("int[2][2] x = {{1, 2}, {1}};", "2:24 2 values are wanted, not 1"),
        ("E x = 1; enum E { A }", "2:7 expected an enumerator of the field's type, found a number"),
        (
            "E x = F.B; enum E { A } enum F { B }",
            "2:7 expected an enumerator of the field's type, found an enumerator",
        ),
        ("IBinder x = 1;", "2:13 nothing can be written for this type"),
        ("int x = {1};", "2:9 expected int, found a list"),
    ] {
        assert_said("parcelable", members, &[wanted]);
    }
}

#[test]
fn methods() {
    for (members, wanted) in [
        ("void a(int[] x);", "2:8 the direction of `x` is missing"),
        ("void a(List<String> x);", "2:8 the direction of `x` is missing"),
        ("void a(P x); parcelable P {}", "2:8 the direction of `x` is missing"),
        ("void a(out int x);", "2:8 a primitive type can only be `in`"),
        ("void a(inout String x);", "2:8 a `String` can only be `in`"),
        ("void a(out IBinder x);", "2:8 an object can only be `in`"),
        ("void a(out X x);", "2:8 an object can only be `in`"),
        ("void a(out E x); enum E { A }", "2:8 an enumeration can only be `in`"),
        ("void a(out ParcelFileDescriptor x);", "2:8 a file to be filled in cannot be made up"),
        ("void a(void x);", "2:8 a parameter cannot be `void`"),
        (
            "void a(in @nullable(heap=true) P x); parcelable P {}",
            "2:32 only a field can be kept on the heap",
        ),
        ("oneway int a();", "2:8 the one-way method `a` cannot return anything"),
        ("oneway void a(out int[] x);", "2:15 nothing comes back from a one-way method"),
        ("void a() = 1; void b() = 1;", "2:26 two methods have the number 1"),
        (
            "void a() = 1; void b();",
            "2:20 either all methods of an interface have a number, or none",
        ),
        ("void a() = 16777115;", "2:12 a method's number is 0 to 16777114"),
        ("void a() = 99999999999999999999;", "2:12 a method's number is 0 to 16777114"),
        ("oneway parcelable P {}", "2:8 expected a name, found `parcelable`"),
    ] {
        let found = said("interface", members);
        let (place, message) = wanted.split_once(' ').unwrap_or_default();
        assert!(found.contains(&format!("{place}: error: {message}")), "{members}: {found:?}");
    }
    let found = said("oneway interface", "int a();");
    assert_eq!(found, ["2:1: error: the one-way method `a` cannot return anything"]);
}

#[test]
fn parcelables_that_would_hold_themselves() {
    assert_said("parcelable", "X x;", &["2:1 `p.X` would hold itself"]);
    assert_said("parcelable", "@nullable X x;", &["2:11 `p.X` would hold itself"]);
    assert_said("parcelable", "X[2] x;", &["2:1 `p.X` would hold itself"]);
    assert_said("union", "int a; X x;", &["2:8 `p.X` would hold itself"]);
    for held in ["@nullable(heap=true) X x;", "X[] x;", "List<X> x;", "@nullable X[] x;"] {
        assert_said("parcelable", held, &[]);
    }
    let other = ("p/Y.aidl", "package p; parcelable Y { X x; }");
    let compilation = compiled_with("p/X.aidl", "package p; parcelable X { Y y; }", &[other]);
    assert_eq!(lines(&compilation), ["p/Y.aidl:1:27: error: `p.X` would hold itself"]);
}

#[test]
fn files() {
    for (path, text, wanted) in [
        ("p/X.aidl", "package p;", "p/X.aidl:1:1: error: this file declares no type"),
        ("p/X.aidl", "", "p/X.aidl:1:1: error: this file declares no type"),
        (
            "p/X.aidl",
            "package p; enum X { A } enum Y { A }",
            "p/X.aidl:1:30: error: a file declares one type",
        ),
        (
            "p/Y.aidl",
            "package p; enum X { A }",
            "p/Y.aidl:1:17: error: `X` is declared in another file than its name says",
        ),
        (
            "q/X.aidl",
            "package p; enum X { A }",
            "q/X.aidl:1:17: error: `X` is declared in another file than its name says",
        ),
        (
            "p/X.aidl",
            "package p; parcelable X;",
            "p/X.aidl:1:23: error: there is nothing to generate for this",
        ),
        (
            "crate/X.aidl",
            "package crate; enum X { A }",
            "crate/X.aidl:1:9: error: `crate` cannot be a module in Rust",
        ),
    ] {
        assert_eq!(lines(&compiled(path, text)), [wanted], "{text}");
    }
}

#[test]
fn nesting_has_an_end() {
    for (open, close) in [("(", ")"), ("{", "}"), ("-", ""), ("!(", ")")] {
        let value = format!("{}1{}", open.repeat(5000), close.repeat(5000));
        let found = said("parcelable", &format!("int x = {value};"));
        assert!(found[0].contains("nested within each other"), "{found:?}");
    }
    let deep = format!("{}A{}", "List<".repeat(5000), ">".repeat(5000));
    assert!(said("parcelable", &format!("{deep} x;"))[0].contains("nested within each other"));
    let deep = format!("{}{}", "parcelable A {".repeat(5000), "}".repeat(5000));
    assert!(said("parcelable", &deep)[0].contains("nested within each other"));
    let long = format!("int x = {}1;", "1 + ".repeat(5000));
    assert_eq!(said("parcelable", &long)[0], "2:2011: error: expected fewer operators, found `+`");
}

#[test]
fn constants_do_not_grow_without_end() {
    use std::fmt::Write;
    let mut members = String::from("const String A0 = \"0123456789abcdef\";\n");
    for at in 1..40 {
        let _ = writeln!(members, "const String A{at} = A{0} + A{0};", at - 1);
    }
    let found = said("parcelable", &members);
    assert_eq!(found, ["15:20: error: this text is longer than 65536 bytes"]);
    let mut members = String::from("const int[] A0 = {1, 2};\n");
    for at in 1..60 {
        let _ = writeln!(members, "const int[] A{at} = {{A{0}, A{0}}};", at - 1);
    }
    let found = said("parcelable", &members);
    assert!(found.contains(&"3:19: error: a name cannot stand for a list".into()), "{found:?}");
    // Each needs the next, and the last is known.
    let mut members = String::new();
    for at in 0..5000 {
        let _ = writeln!(members, "const int A{at} = A{};", at + 1);
    }
    members.push_str("const int A5000 = 1;");
    let found = said("parcelable", &members);
    assert!(found[0].contains("this constant depends on too many others"), "{:?}", &found[..1]);
    let forwards: String =
        (1..5000).map(|at| format!("const int A{at} = A{} + 1;\n", at - 1)).collect();
    assert_said("parcelable", &format!("const int A0 = 0;\n{forwards}"), &[]);
}
