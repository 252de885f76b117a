//! Types that AIDL itself knows.

use crate::model::TypeKind;

/// A type without a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Builtin {
    /// One that Rust has, too.
    Kind(TypeKind),
    /// `List`.
    List,
    /// One of Java's alone.
    JavaOnly,
}

/// That of this name.
pub(crate) fn find(name: &str) -> Option<Builtin> {
    let kind = match name {
        "void" => TypeKind::Void,
        "boolean" => TypeKind::Boolean,
        "byte" => TypeKind::Byte,
        "char" => TypeKind::Char,
        "int" => TypeKind::Int,
        "long" => TypeKind::Long,
        "float" => TypeKind::Float,
        "double" => TypeKind::Double,
        "String" | "java.lang.String" => TypeKind::Text,
        "IBinder" | "android.os.IBinder" => TypeKind::Binder,
        "ParcelFileDescriptor" | "android.os.ParcelFileDescriptor" => TypeKind::File,
        "ParcelableHolder" | "android.os.ParcelableHolder" => TypeKind::Holder,
        "List" | "java.util.List" => return Some(Builtin::List),
        "Map"
        | "java.util.Map"
        | "CharSequence"
        | "java.lang.CharSequence"
        | "FileDescriptor"
        | "java.io.FileDescriptor" => return Some(Builtin::JavaOnly),
        _ => return None,
    };
    Some(Builtin::Kind(kind))
}
