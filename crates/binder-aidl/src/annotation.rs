//! Annotations: which there are, and what stands behind them.

use alloc::format;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::syntax::{Annotation, Definition, ExpressionKind};

/// All annotations of AIDL and their parameters. Many of them say something to other languages only.
const KNOWN: [(&str, &[&str]); 28] = [
    ("Backing", &["type"]),
    ("CppOnlyStableParcelable", &[]),
    ("Descriptor", &["value"]),
    ("Enforce", &["condition"]),
    ("EnforcePermission", &["value", "anyOf", "allOf"]),
    ("FixedSize", &[]),
    ("Hide", &[]),
    ("JavaDefault", &[]),
    ("JavaDelegator", &[]),
    ("JavaDerive", &["toString", "equals"]),
    ("JavaOnlyImmutable", &[]),
    ("JavaOnlyStableParcelable", &[]),
    ("JavaPassthrough", &["annotation"]),
    ("JavaStableParcelable", &[]),
    ("JavaSuppressLint", &["value"]),
    ("NdkOnlyStableParcelable", &[]),
    ("NdkStableParcelable", &[]),
    ("PermissionManuallyEnforced", &[]),
    ("PropagateAllowBlocking", &[]),
    ("RequiresNoPermission", &[]),
    ("RustDerive", &["Copy", "Clone", "PartialOrd", "Ord", "PartialEq", "Eq", "Hash"]),
    ("RustOnlyStableParcelable", &[]),
    ("SensitiveData", &[]),
    ("SuppressWarnings", &["value"]),
    (
        "UnsupportedAppUsage",
        &[
            "expectedSignature",
            "implicitMember",
            "maxTargetSdk",
            "overrideSourcePosition",
            "publicAlternatives",
            "trackingBug",
        ],
    ),
    ("VintfStability", &[]),
    ("nullable", &["heap"]),
    ("utf8InCpp", &[]),
];

/// Annotations that give a parcelable to Java alone.
const JAVA_ONLY: [&str; 2] = ["JavaOnlyStableParcelable", "JavaStableParcelable"];

/// That of this name.
pub(crate) fn find<'a>(annotations: &'a [Annotation], name: &str) -> Option<&'a Annotation> {
    annotations.iter().find(|it| it.name == name)
}

/// Whether one of this name is there.
pub(crate) fn has(annotations: &[Annotation], name: &str) -> bool {
    find(annotations, name).is_some()
}

/// Whether a parcelable is for Java alone.
pub(crate) fn is_java_only(annotations: &[Annotation]) -> bool {
    JAVA_ONLY.iter().any(|name| has(annotations, name))
}

/// The name by which peers know a type: that of its path, unless it is annotated with another.
pub(crate) fn descriptor<'a>(definition: &'a Definition, path: &'a str) -> &'a str {
    find(&definition.annotations, "Descriptor").and_then(|it| it.text("value")).unwrap_or(path)
}

impl Annotation {
    /// A parameter that is a text.
    pub(crate) fn text(&self, parameter: &str) -> Option<&str> {
        self.parameters.iter().find(|(name, _)| name.text == parameter).and_then(|(_, value)| {
            match &value.kind {
                ExpressionKind::Text(text) => Some(text.as_str()),
                _ => None,
            }
        })
    }

    /// Whether a parameter is `true`.
    pub(crate) fn is_true(&self, parameter: &str) -> bool {
        self.parameters.iter().any(|(name, value)| {
            name.text == parameter && matches!(value.kind, ExpressionKind::Boolean(true))
        })
    }
}

/// Complains of annotations that AIDL does not know, that are given twice, or whose parameters it does not know.
pub(crate) fn check(annotations: &[Annotation], diagnostics: &mut Diagnostics) {
    for (at, annotation) in annotations.iter().enumerate() {
        let name = &annotation.name;
        let Some((_, parameters)) = KNOWN.iter().find(|(known, _)| known == name) else {
            let message = format!("AIDL has no annotation `@{name}`");
            diagnostics.push(Diagnostic::error(annotation.span, message));
            continue;
        };
        if let Some(first) = annotations[..at].iter().find(|it| it.name == *name) {
            let error = Diagnostic::error(annotation.span, format!("`@{name}` is given twice"));
            diagnostics.push(error.other(first.span, "first here"));
        }
        for (parameter, _) in &annotation.parameters {
            if !parameters.contains(&parameter.text.as_str()) {
                let message = format!("`@{name}` has no parameter `{}`", parameter.text);
                let known = parameters.join("`, `");
                let error = Diagnostic::error(parameter.span, message);
                diagnostics.push(match parameters.is_empty() {
                    true => error,
                    false => error.help(format!("it has `{known}`")),
                });
            }
        }
    }
}
