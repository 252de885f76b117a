//! Finds parcelables that would hold themselves.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use crate::annotation;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::program::{DefinitionKey, TypeTable};
use crate::source::Span;
use crate::syntax::{DefinitionKind, Dimension, FieldSyntax};

/// How far a type has been looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CycleProgress {
    Begun,
    Done,
}

/// Complains of every field by which a value would have to hold one of its own type.
pub(crate) fn check(
    table: &TypeTable<'_>,
    roots: impl Iterator<Item = DefinitionKey>,
    diagnostics: &mut Diagnostics,
) {
    let mut progress = BTreeMap::new();
    for root in roots {
        if progress.contains_key(&root) {
            continue;
        }
        // A stack of its own: types may be held by each other in any number.
        let mut stack = Vec::from([(root, held_by(table, root))]);
        progress.insert(root, CycleProgress::Begun);
        while let Some((key, held)) = stack.last_mut() {
            let Some((inner, span)) = held.pop() else {
                progress.insert(*key, CycleProgress::Done);
                stack.pop();
                continue;
            };
            match progress.get(&inner) {
                None => {
                    progress.insert(inner, CycleProgress::Begun);
                    stack.push((inner, held_by(table, inner)));
                }
                Some(CycleProgress::Begun) => {
                    let path = &table.entry(inner).path;
                    let message = format!("`{path}` would hold itself");
                    let help = "`@nullable(heap=true)`, an array or a `List` may hold it";
                    let error = Diagnostic::error(span, message).label("by this field");
                    let held = table.entry(inner).definition.name.span;
                    diagnostics.push(error.other(held, "declared here").help(help));
                }
                Some(CycleProgress::Done) => {}
            }
        }
    }
}

/// The types of which a value of this type holds one in place, and by which fields.
fn held_by(table: &TypeTable<'_>, key: DefinitionKey) -> Vec<(DefinitionKey, Span)> {
    let entry = table.entry(key);
    let fields = match &entry.definition.kind {
        DefinitionKind::Parcelable(fields) | DefinitionKind::Union(fields) => fields,
        DefinitionKind::Interface { .. }
        | DefinitionKind::Enumeration(_)
        | DefinitionKind::Foreign { .. } => return Vec::new(),
    };
    let held = fields.iter().filter(|it| is_in_place(it)).filter_map(
        |FieldSyntax { type_name, .. }| {
            let inner = table.find(&type_name.name.segments, entry.document, Some(key))?;
            Some((inner, type_name.span))
        },
    );
    held.collect()
}

fn is_in_place(field: &FieldSyntax) -> bool {
    let of = &field.type_name;
    let is_boxed =
        annotation::find(&of.annotations, "nullable").is_some_and(|it| it.is_true("heap"));
    !is_boxed && of.dimensions.iter().all(|it| matches!(it, Dimension::Fixed(_)))
}
