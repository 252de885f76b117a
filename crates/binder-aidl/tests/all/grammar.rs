//! All that AIDL's grammar allows.

use binder_aidl::{MethodCode, SourceFile, list_methods, method_codes, package_of};

use crate::code;

#[test]
fn comments_and_blanks_are_anywhere() {
    let text = code(
        "p/IX.aidl",
        "/* a */ package /* b */ p // c\n; // import x.y.Z;\n/** d * / */ interface/**/IX{ \
         void\ta(/* in */ in int[/**/] x /* interface IWrong { */ ) ; /***/ void b(); //\n}",
    );
    assert!(text.contains("fn r#a(&self, _arg_x: &[i32])") && text.contains("fn r#b(&self)"));
}

#[test]
fn annotations_stand_before_and_within() {
    let text = code(
        "p/IX.aidl",
        "package p;
         @JavaDelegator @SuppressWarnings(value={\"a\", \"b\" + \"c\",}) @Descriptor(value=\"p.Old\")
         interface IX {
            @RequiresNoPermission @nullable @utf8InCpp String a(in @nullable @utf8InCpp String[] x);
            @EnforcePermission(\"A\") void b(@utf8InCpp String y, @nullable in IBinder z);
            @EnforcePermission(anyOf={\"A\", \"B\"}) @UnsupportedAppUsage(maxTargetSdk=30, trackingBug=1L) void c();
         }",
    );
    assert!(text.contains(
        "fn r#a(&self, _arg_x: Option<&[Option<String>]>) -> binder::Result<Option<String>>;"
    ));
    assert!(text.contains("_arg_z: Option<&binder::SpIBinder>"));
    assert!(text.contains("IX[\"p.Old\"]"));
}

#[test]
fn generic_types_end_with_as_many_brackets_as_they_have() {
    let text = code(
        "p/X.aidl",
        "package p; parcelable X { P<P<int, String>, List<String>> x; int y = 8 >> 1; boolean z = 1 > 0;
         parcelable P<A, B> {} }",
    );
    let p = "crate::mangled::_1_p_1_X_1_P";
    assert!(text.contains(&format!("pub r#x: {p}<{p}<i32,String,>,Vec<String>,>,")), "{text}");
    assert!(text.contains("r#y: 4,") && text.contains("r#z: true,"));
}

#[test]
fn types_are_within_types_within_types() {
    let text = code(
        "p/IX.aidl",
        "package p; interface IX { const int K = 3;
            parcelable A { oneway interface IB { void f(in int[K] x); } union U { int a; A.C c; }
                enum C { ONE = K } U u; @nullable IB b; C[K] cs = {C.ONE, A.C.ONE, IX.A.C.ONE}; }
            A f(in A[] as_, A.U.Tag tag, in A.U u); }",
    );
    for wanted in [
        "pub use super::r#IX as _1_p_2_IX;",
        "pub use super::r#A::r#A as _1_p_2_IX_1_A;",
        "pub use super::r#A::r#IB::r#IB as _1_p_2_IX_1_A_2_IB;",
        "pub use super::r#A::r#U::r#Tag::r#Tag as _1_p_2_IX_1_A_1_U_3_Tag;",
        "r#cs: [crate::mangled::_1_p_2_IX_1_A_1_C::ONE, ",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
}

#[test]
fn notes_of_deprecation_are_kept() {
    let text = code(
        "p/IX.aidl",
        "package p;
         /** The interface.
          * @deprecated use \"IY\"
          *     instead
          * @see IY
          */
         interface IX {
            /** @deprecated one */ const int A = 1;
            /** @deprecated two */ void b();
            /** Not @ deprecated. */ void c();
            /** @deprecated */ parcelable P { /** @deprecated three */ int d; }
            enum E { /** @deprecated four */ A, B }
            union U { /** @deprecated five */ int a; }
         }",
    );
    let count = |note: &str| text.matches(&format!("#[deprecated = {note:?}]")).count();
    assert_eq!(count("use \"IY\" instead"), 3, "the traits");
    assert_eq!(
        [count("one"), count("two"), count("three"), count("four"), count("five")],
        [1, 3, 1, 1, 2]
    );
    assert_eq!(text.matches("#[deprecated]\n").count(), 1);
    assert_eq!(text.matches("#[deprecated").count(), 12);
}

#[test]
fn numbers_of_methods_are_kept() {
    let text = code(
        "p/IX.aidl",
        "package p; interface IX { void a() = 10; void b() = 0x3; void c() = 0; }",
    );
    for (name, code) in [("a", 10), ("b", 3), ("c", 0)] {
        let line = format!("FIRST_CALL_TRANSACTION + {code};");
        let line = format!(
            "pub const r#{name}: binder::binder_impl::TransactionCode = binder::binder_impl::{line}"
        );
        assert!(text.contains(&line), "{line}");
    }
}

#[test]
fn words_of_rust_are_names_too() {
    let text = code(
        "p/X.aidl",
        "package p; parcelable X { int type; int match; int async = 3; @Backing(type=\"int\") enum fn { loop, dyn } }",
    );
    assert!(text.contains("pub r#type: i32,") && text.contains("pub mod r#fn {"));
}

#[test]
fn long_arrays_are_filled_by_a_function() {
    let text = code(
        "p/X.aidl",
        "package p; parcelable X { int[32] a; int[33] b; P[2][40] c; parcelable P {} }",
    );
    assert!(text.contains("r#b: std::array::from_fn(|_| Default::default()),"));
    assert!(
        text.contains("r#c: std::array::from_fn(|_| std::array::from_fn(|_| Default::default())),")
    );
    let many = code("p/X.aidl", "package p; parcelable X { int[32][32] a; int[32][32][2] b; }");
    assert!(many.contains("r#a: [[D") && many.contains("r#b: std::array::from_fn"));
    let listed =
        text.lines().find(|it| it.contains("r#a: [D")).map(|it| it.matches("Default").count());
    assert_eq!(listed, Some(32));
}

#[test]
fn methods_are_known_by_their_numbers_in_broken_sources_too() {
    let source = "package a.b; interface I { void one(); int two(Unknown x; } void three(); }
                  parcelable P { interface J { void four() = 7; } }";
    let named = |interface: &str, method: &str, code| MethodCode {
        interface: interface.into(),
        method: method.into(),
        code,
        is_oneway: false,
    };
    let codes = method_codes(source);
    assert_eq!(codes[0], named("a.b.I", "one", 0));
    assert!(codes.contains(&named("a.b.P.J", "four", 7)), "{codes:?}");
}

#[test]
fn listed_methods_have_the_names_and_codes_that_calls_tell() {
    let file = |text: &str| SourceFile::new("p/I.aidl", text);
    let listing = list_methods(vec![
        file("package p; @Descriptor(value=\"old.I\") interface I { void a(); oneway void b(); }"),
        file("package p; import no.Such; oneway interface J { void c(in Unknown it) = 5; }"),
    ]);
    assert_eq!(listing.diagnostics, []);
    let method = |interface: &str, method: &str, code, is_oneway| MethodCode {
        interface: interface.into(),
        method: method.into(),
        code,
        is_oneway,
    };
    let wanted = [
        method("old.I", "a", 0, false),
        method("old.I", "b", 1, true),
        method("p.J", "c", 5, true),
    ];
    assert_eq!(listing.methods, wanted);

    let text = "package p; interface I { void a( ; void b() = 16777215; }";
    let listing = list_methods(vec![file(text)]);
    let lines: Vec<_> = listing.diagnostics.iter().map(|it| it.line(&listing.files)).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(lines[1], "p/I.aidl:1:47: error: a method's number is 0 to 16777114");
}

#[test]
fn a_package_is_known_by_what_the_source_says() {
    assert_eq!(package_of("/* package x; */ package a.b; interface").as_deref(), Some("a.b"));
    assert_eq!(package_of("interface I {}"), None);
}
