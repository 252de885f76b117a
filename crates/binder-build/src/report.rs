//! Messages as rustc shows them: with the source, and the place underlined.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use binder_aidl::{Diagnostic, Label, Severity, SourceFile, Span};

/// How many messages are shown: the first ones.
const MAX_SHOWN: usize = 50;

/// The messages, each behind an empty line.
pub(crate) fn render<'d>(
    mut diagnostics: impl Iterator<Item = &'d Diagnostic>,
    files: &[SourceFile],
) -> String {
    let mut reports: Vec<String> =
        diagnostics.by_ref().take(MAX_SHOWN).map(|it| one(it, files)).collect();
    match diagnostics.count() {
        0 => {}
        more => reports.push(format!("and {more} more")),
    }
    reports.join("\n\n")
}

fn one(diagnostic: &Diagnostic, files: &[SourceFile]) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let Diagnostic { message, primary, others, help, .. } = diagnostic;
    let mut group = level.primary_title(message.as_str()).elements(
        // The file of the mistake comes first, each file once.
        files_of(diagnostic).into_iter().filter_map(|index| {
            let file = files.get(index)?;
            let primary =
                (primary.span.file == index).then_some((AnnotationKind::Primary, primary));
            let others = others.iter().filter(|it| it.span.file == index);
            let labels = primary.into_iter().chain(others.map(|it| (AnnotationKind::Context, it)));
            let annotations = labels.map(|(kind, Label { span, text })| {
                let annotation = kind.span(within(*span, file));
                if text.is_empty() { annotation } else { annotation.label(text.as_str()) }
            });
            Some(Snippet::source(&file.text).path(&file.path).annotations(annotations))
        }),
    );
    if let Some(help) = help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    Renderer::plain().render(&[group])
}

fn files_of(diagnostic: &Diagnostic) -> Vec<usize> {
    let mut files = vec![diagnostic.primary.span.file];
    for other in &diagnostic.others {
        if !files.contains(&other.span.file) {
            files.push(other.span.file);
        }
    }
    files
}

/// The bytes of a span, of whole characters of the file.
fn within(span: Span, file: &SourceFile) -> Range<usize> {
    let fitting = |mut at: usize| {
        at = at.min(file.text.len());
        while !file.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = fitting(span.start);
    start..fitting(span.end).max(start)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_place_of_any_text_can_be_shown(
            text in "(\\PC|\n|\r\n|\t|\u{e9}|\u{65e5}){0,40}",
            places in proptest::collection::vec((0..2_usize, 0..200_usize, 0..200_usize, ".{0,3}"), 1..4)
        ) {
            let files = [SourceFile::new("a.aidl", text), SourceFile::new("b.aidl", "")];
            let label = |(file, start, end, text): &(usize, usize, usize, String)| Label {
                span: Span { file: *file, start: *start, end: *end },
                text: text.clone(),
            };
            let diagnostic = Diagnostic {
                severity: Severity::Error,
                message: "wrong".into(),
                primary: label(&places[0]),
                others: places[1..].iter().map(label).collect(),
                help: Some("right".into()),
            };
            let shown = render([&diagnostic].into_iter(), &files);
            prop_assert!(shown.starts_with("error: wrong"));
        }
    }
}
