//! The macro that declares every structure of this crate.

/// Declares structures that are plain bytes, each with its size asserted at compile time.
///
/// The derives of `zerocopy` refuse a structure with padding, so a missed hole in a C layout does
/// not compile.
macro_rules! layouts {
    ($(
        $(#[$meta:meta])*
        struct $name:ident[$size:literal] {
            $($(#[$field_meta:meta])* $field:ident: $ty:ty,)*
        }
    )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[derive(::zerocopy::FromBytes, ::zerocopy::IntoBytes)]
        #[derive(::zerocopy::Immutable, ::zerocopy::KnownLayout)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $ty,)*
        }

        const _: () = assert!(size_of::<$name>() == $size);

        impl Default for $name {
            fn default() -> Self {
                ::zerocopy::FromZeros::new_zeroed()
            }
        }
    )*};
}
pub(crate) use layouts;
