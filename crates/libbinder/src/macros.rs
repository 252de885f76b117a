//! What generated code is made of.

/// Declares an interface: its object, its proxy, and what makes them binders.
///
/// AIDL writes it; by hand it looks like this, beside a trait `IHello` and a function `on_transact`:
///
/// ```ignore
/// binder::declare_binder_interface! {
///     IHello["com.example.IHello"] {
///         native: BnHello(on_transact),
///         proxy: BpHello {},
///         async: IHelloAsync,
///     }
/// }
/// ```
#[macro_export]
macro_rules! declare_binder_interface {
    {
        $interface:path[$descriptor:expr] {
            native: $native:ident($on_transact:path),
            proxy: $proxy:ident $({ $($fname:ident: $fty:ty = $finit:expr),* $(,)? })?,
            $(async: $async_interface:ident $(($try_into_local_async:ident))?,)?
            $(stability: $stability:expr,)?
        }
    } => {
        $crate::__declare_binder_native! {
            $interface[$descriptor], $native($on_transact), [$($stability)?]
        }
        $crate::__declare_binder_proxy! {
            $interface[$descriptor], $native, $proxy { $($($fname: $fty = $finit,)*)? }
        }
        $(
            $crate::__declare_binder_async! {
                $interface, $native, $proxy, $async_interface [$($try_into_local_async)?]
            }
        )?
    };
    {
        $interface:path[$descriptor:expr] {
            native: $native:ident($on_transact:path),
            proxy: $proxy:ident $({ $($fname:ident: $fty:ty = $finit:expr),* $(,)? })?
            $(, stability: $stability:expr)? $(,)?
        }
    } => {
        $crate::__declare_binder_native! {
            $interface[$descriptor], $native($on_transact), [$($stability)?]
        }
        $crate::__declare_binder_proxy! {
            $interface[$descriptor], $native, $proxy { $($($fname: $fty = $finit,)*)? }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __declare_binder_native {
    ($interface:path[$descriptor:expr], $native:ident($on_transact:path), [$($stability:expr)?]) => {
        /// A service of the interface, as a binder holds it.
        pub struct $native(Box<dyn $interface + Send + Sync + 'static>);

        impl $native {
            /// Makes a binder of a service.
            pub fn new_binder<T: $interface + Send + Sync + 'static>(
                inner: T,
                features: $crate::BinderFeatures,
            ) -> $crate::Strong<dyn $interface> {
                #[allow(unused_variables)]
                let stability = $crate::binder_impl::Stability::default();
                $(let stability = $stability;)?
                #[allow(unused_mut)]
                let mut binder =
                    $crate::binder_impl::Binder::new_with_stability(Self(Box::new(inner)), stability);
                $crate::binder_impl::IBinderInternal::set_requesting_sid(
                    &mut binder,
                    features.set_requesting_sid,
                );
                $crate::Strong::new(Box::new(binder))
            }
        }

        impl $crate::binder_impl::Remotable for $native {
            fn get_descriptor() -> &'static str {
                $descriptor
            }

            fn on_transact(
                &self,
                code: $crate::binder_impl::TransactionCode,
                data: &$crate::binder_impl::BorrowedParcel<'_>,
                reply: &mut $crate::binder_impl::BorrowedParcel<'_>,
            ) -> ::std::result::Result<(), $crate::StatusCode> {
                match $on_transact(&*self.0, code, data, reply) {
                    // The caller or the service left out what must be there: that is an exception,
                    // not a failure, and not the rest of half an answer.
                    Err($crate::StatusCode::UNEXPECTED_NULL) => {
                        reply.restart();
                        reply.write(&$crate::Status::from($crate::ExceptionCode::NULL_POINTER))
                    }
                    result => result,
                }
            }

            fn on_dump(
                &self,
                out: &mut dyn ::std::io::Write,
                args: &[&::std::ffi::CStr],
            ) -> ::std::result::Result<(), $crate::StatusCode> {
                self.0.dump(out, args)
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __declare_binder_proxy {
    (
        $interface:path[$descriptor:expr], $native:ident,
        $proxy:ident { $($fname:ident: $fty:ty = $finit:expr,)* }
    ) => {
        /// A proxy of an object that serves the interface.
        pub struct $proxy {
            binder: $crate::SpIBinder,
            $($fname: $fty,)*
        }

        impl $crate::Interface for $proxy {
            fn as_binder(&self) -> $crate::SpIBinder {
                self.binder.clone()
            }
        }

        impl $crate::binder_impl::Proxy for $proxy
        where
            $proxy: $interface,
        {
            fn get_descriptor() -> &'static str {
                $descriptor
            }

            fn from_binder(
                binder: $crate::SpIBinder,
            ) -> ::std::result::Result<Self, $crate::StatusCode> {
                let binder = binder.associate($descriptor)?;
                Ok(Self { binder, $($fname: $finit,)* })
            }
        }

        impl $crate::FromIBinder for dyn $interface {
            fn try_from(
                binder: $crate::SpIBinder,
            ) -> ::std::result::Result<$crate::Strong<dyn $interface>, $crate::StatusCode> {
                if let Ok(service) = $crate::binder_impl::Binder::<$native>::from_binder(&binder) {
                    return Ok($crate::Strong::new(Box::new(service)));
                }
                let proxy = <$proxy as $crate::binder_impl::Proxy>::from_binder(binder)?;
                Ok($crate::Strong::new(Box::new(proxy)))
            }
        }

        impl $crate::binder_impl::Serialize for dyn $interface + '_
        where
            dyn $interface: $crate::Interface,
        {
            fn serialize(
                &self,
                parcel: &mut $crate::binder_impl::BorrowedParcel<'_>,
            ) -> ::std::result::Result<(), $crate::StatusCode> {
                parcel.write(&$crate::Interface::as_binder(self))
            }
        }

        impl $crate::binder_impl::SerializeOption for dyn $interface + '_ {
            fn serialize_option(
                this: Option<&Self>,
                parcel: &mut $crate::binder_impl::BorrowedParcel<'_>,
            ) -> ::std::result::Result<(), $crate::StatusCode> {
                parcel.write(&this.map($crate::Interface::as_binder))
            }
        }

        impl ::std::fmt::Debug for dyn $interface + '_ {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(stringify!($interface))
            }
        }

        impl ::std::borrow::ToOwned for dyn $interface {
            type Owned = $crate::Strong<dyn $interface>;

            fn to_owned(&self) -> Self::Owned {
                $crate::FromIBinder::try_from($crate::Interface::as_binder(self))
                    .expect("an object's interface does not change")
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __declare_binder_async {
    (
        $interface:path, $native:ident, $proxy:ident,
        $async_interface:ident [$($try_into_local_async:ident)?]
    ) => {
        impl<P: $crate::BinderAsyncPool + 'static> $crate::FromIBinder for dyn $async_interface<P> {
            fn try_from(
                binder: $crate::SpIBinder,
            ) -> ::std::result::Result<$crate::Strong<dyn $async_interface<P>>, $crate::StatusCode>
            {
                $(
                    if let Ok(service) =
                        $crate::binder_impl::Binder::<$native>::from_binder(&binder)
                        && let Some(local) = $native::$try_into_local_async(service)
                    {
                        return Ok(local);
                    }
                )?
                let proxy = <$proxy as $crate::binder_impl::Proxy>::from_binder(binder)?;
                Ok($crate::Strong::new(Box::new(proxy)))
            }
        }

        impl<P: $crate::BinderAsyncPool + 'static> $crate::binder_impl::Serialize
            for dyn $async_interface<P> + '_
        {
            fn serialize(
                &self,
                parcel: &mut $crate::binder_impl::BorrowedParcel<'_>,
            ) -> ::std::result::Result<(), $crate::StatusCode> {
                parcel.write(&$crate::Interface::as_binder(self))
            }
        }

        impl<P: $crate::BinderAsyncPool + 'static> $crate::binder_impl::SerializeOption
            for dyn $async_interface<P> + '_
        {
            fn serialize_option(
                this: Option<&Self>,
                parcel: &mut $crate::binder_impl::BorrowedParcel<'_>,
            ) -> ::std::result::Result<(), $crate::StatusCode> {
                parcel.write(&this.map($crate::Interface::as_binder))
            }
        }

        impl<P: $crate::BinderAsyncPool + 'static> ::std::fmt::Debug
            for dyn $async_interface<P> + '_
        {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(stringify!($async_interface))
            }
        }

        impl<P: $crate::BinderAsyncPool + 'static> ::std::borrow::ToOwned
            for dyn $async_interface<P>
        {
            type Owned = $crate::Strong<dyn $async_interface<P>>;

            fn to_owned(&self) -> Self::Owned {
                $crate::FromIBinder::try_from($crate::Interface::as_binder(self))
                    .expect("an object's interface does not change")
            }
        }

        impl<P: $crate::BinderAsyncPool + 'static> $crate::ToAsyncInterface<P> for dyn $interface {
            type TargetInterface = dyn $async_interface<P>;
        }

        impl<P: $crate::BinderAsyncPool + 'static> $crate::ToSyncInterface
            for dyn $async_interface<P>
        {
            type TargetInterface = dyn $interface;
        }
    };
}

/// Declares an enumeration: a number, with names for some values.
///
/// ```
/// binder::declare_binder_enum! {
///     Colour : [i32; 2] {
///         r#RED = 0,
///         r#GREEN = 1,
///     }
/// }
/// assert_eq!(Colour::enum_values()[1], Colour::GREEN);
/// assert_eq!(format!("{:?}", Colour::GREEN), "GREEN");
/// assert_eq!(format!("{:?}", Colour(7)), "Colour(7)");
/// ```
#[macro_export]
macro_rules! declare_binder_enum {
    {
        $(#[$attribute:meta])*
        $name:ident : [$backing:ty; $count:expr] {
            $($(#[$value_attribute:meta])* $value:ident = $number:expr,)*
        }
    } => {
        $(#[$attribute])*
        #[derive(Default, Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs)]
        pub struct $name(pub $backing);

        impl $name {
            $(
                $(#[$value_attribute])*
                #[allow(missing_docs)]
                pub const $value: Self = Self($number);
            )*

            /// All values that have a name.
            #[inline(always)]
            pub const fn enum_values() -> [Self; $count] {
                [$(Self::$value),*]
            }
        }

        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                // Values may have the same number, so this is no match.
                $(if *self == Self::$value {
                    return f.write_str(stringify!($value).trim_start_matches("r#"));
                })*
                // AIDL's compiler writes every name as a raw one.
                write!(f, "{}({})", stringify!($name).trim_start_matches("r#"), self.0)
            }
        }

        impl $crate::binder_impl::Serialize for $name {
            fn serialize(
                &self,
                parcel: &mut $crate::binder_impl::BorrowedParcel<'_>,
            ) -> ::std::result::Result<(), $crate::StatusCode> {
                parcel.write(&self.0)
            }
        }

        impl $crate::binder_impl::SerializeArray for $name {
            fn serialize_array(
                slice: &[Self],
                parcel: &mut $crate::binder_impl::BorrowedParcel<'_>,
            ) -> ::std::result::Result<(), $crate::StatusCode> {
                let numbers: Vec<$backing> = slice.iter().map(|value| value.0).collect();
                <$backing as $crate::binder_impl::SerializeArray>::serialize_array(
                    &numbers, parcel,
                )
            }
        }

        impl $crate::binder_impl::Deserialize for $name {
            type UninitType = Self;

            fn uninit() -> Self::UninitType {
                <Self as ::std::default::Default>::default()
            }

            fn from_init(value: Self) -> Self::UninitType {
                value
            }

            fn deserialize(
                parcel: &$crate::binder_impl::BorrowedParcel<'_>,
            ) -> ::std::result::Result<Self, $crate::StatusCode> {
                parcel.read().map(Self)
            }
        }

        impl $crate::binder_impl::DeserializeArray for $name {
            fn deserialize_array(
                parcel: &$crate::binder_impl::BorrowedParcel<'_>,
            ) -> ::std::result::Result<Option<Vec<Self>>, $crate::StatusCode> {
                let numbers: Option<Vec<$backing>> =
                    $crate::binder_impl::DeserializeArray::deserialize_array(parcel)?;
                Ok(numbers.map(|numbers| numbers.into_iter().map(Self).collect()))
            }
        }
    };
}

/// Lets a [`Parcelable`](crate::Parcelable) be written into parcels.
#[macro_export]
macro_rules! impl_serialize_for_parcelable {
    ($parcelable:ident) => {
        $crate::impl_serialize_for_parcelable!($parcelable<>);
    };
    ($parcelable:ident < $($generic:ident),* $(,)? >) => {
        impl<$($generic,)*> $crate::binder_impl::Serialize for $parcelable<$($generic,)*>
        where
            Self: $crate::Parcelable,
        {
            fn serialize(
                &self,
                parcel: &mut $crate::binder_impl::BorrowedParcel<'_>,
            ) -> ::std::result::Result<(), $crate::StatusCode> {
                <Self as $crate::binder_impl::SerializeOption>::serialize_option(
                    Some(self), parcel,
                )
            }
        }

        impl<$($generic,)*> $crate::binder_impl::SerializeArray for $parcelable<$($generic,)*>
        where
            Self: $crate::Parcelable,
        {
        }

        impl<$($generic,)*> $crate::binder_impl::SerializeOption for $parcelable<$($generic,)*>
        where
            Self: $crate::Parcelable,
        {
            fn serialize_option(
                this: Option<&Self>,
                parcel: &mut $crate::binder_impl::BorrowedParcel<'_>,
            ) -> ::std::result::Result<(), $crate::StatusCode> {
                let Some(this) = this else {
                    return parcel.write(&$crate::binder_impl::NULL_PARCELABLE_FLAG);
                };
                parcel.write(&$crate::binder_impl::NON_NULL_PARCELABLE_FLAG)?;
                $crate::Parcelable::write_to_parcel(this, parcel)
            }
        }
    };
}

/// Lets a [`Parcelable`](crate::Parcelable) with a default be read from parcels.
#[macro_export]
macro_rules! impl_deserialize_for_parcelable {
    ($parcelable:ident) => {
        $crate::impl_deserialize_for_parcelable!($parcelable<>);
    };
    ($parcelable:ident < $($generic:ident),* $(,)? >) => {
        impl<$($generic: Default,)*> $crate::binder_impl::Deserialize for $parcelable<$($generic,)*>
        where
            Self: $crate::Parcelable + Default,
        {
            type UninitType = Self;

            fn uninit() -> Self::UninitType {
                <Self as ::std::default::Default>::default()
            }

            fn from_init(value: Self) -> Self::UninitType {
                value
            }

            fn deserialize(
                parcel: &$crate::binder_impl::BorrowedParcel<'_>,
            ) -> ::std::result::Result<Self, $crate::StatusCode> {
                <Self as $crate::binder_impl::DeserializeOption>::deserialize_option(parcel)?
                    .ok_or($crate::StatusCode::UNEXPECTED_NULL)
            }

            fn deserialize_from(
                &mut self,
                parcel: &$crate::binder_impl::BorrowedParcel<'_>,
            ) -> ::std::result::Result<(), $crate::StatusCode> {
                if parcel.read::<i32>()? == $crate::binder_impl::NULL_PARCELABLE_FLAG {
                    return Err($crate::StatusCode::UNEXPECTED_NULL);
                }
                parcel.read_nested(|parcel| {
                    $crate::Parcelable::read_from_parcel(self, parcel)
                })
            }
        }

        impl<$($generic: Default,)*> $crate::binder_impl::DeserializeArray
            for $parcelable<$($generic,)*>
        where
            Self: $crate::Parcelable + Default,
        {
        }

        impl<$($generic: Default,)*> $crate::binder_impl::DeserializeOption
            for $parcelable<$($generic,)*>
        where
            Self: $crate::Parcelable + Default,
        {
            fn deserialize_option(
                parcel: &$crate::binder_impl::BorrowedParcel<'_>,
            ) -> ::std::result::Result<Option<Self>, $crate::StatusCode> {
                if parcel.read::<i32>()? == $crate::binder_impl::NULL_PARCELABLE_FLAG {
                    return Ok(None);
                }
                let mut value = Self::default();
                parcel.read_nested(|parcel| {
                    $crate::Parcelable::read_from_parcel(&mut value, parcel)
                })?;
                Ok(Some(value))
            }
        }
    };
}

/// Lets an [`UnstructuredParcelable`](crate::binder_impl::UnstructuredParcelable) be written into
/// parcels.
#[macro_export]
macro_rules! impl_serialize_for_unstructured_parcelable {
    ($parcelable:ident $(< $($generic:ident),* $(,)? >)?) => {
        $crate::impl_serialize_for_parcelable!($parcelable < $($($generic),*)? >);
    };
}

/// Lets an [`UnstructuredParcelable`](crate::binder_impl::UnstructuredParcelable) be read from
/// parcels.
///
/// ```
/// use binder::StatusCode;
/// use binder::binder_impl::{BorrowedParcel, Parcel, UnstructuredParcelable};
///
/// #[derive(Debug, PartialEq)]
/// struct Port(u16);
///
/// impl UnstructuredParcelable for Port {
///     fn write_to_parcel(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
///         parcel.write(&self.0)
///     }
///     fn from_parcel(parcel: &BorrowedParcel<'_>) -> Result<Self, StatusCode> {
///         parcel.read().map(Self)
///     }
/// }
///
/// binder::impl_serialize_for_unstructured_parcelable!(Port);
/// binder::impl_deserialize_for_unstructured_parcelable!(Port);
///
/// let mut parcel = Parcel::new();
/// parcel.write(&[Port(80), Port(443)])?;
/// parcel.set_data_position(0)?;
/// assert_eq!(parcel.read::<Vec<Port>>()?, [Port(80), Port(443)]);
/// # Ok::<(), StatusCode>(())
/// ```
#[macro_export]
macro_rules! impl_deserialize_for_unstructured_parcelable {
    ($parcelable:ident) => {
        $crate::impl_deserialize_for_unstructured_parcelable!($parcelable<>);
    };
    ($parcelable:ident < $($generic:ident),* $(,)? >) => {
        impl<$($generic,)*> $crate::binder_impl::Deserialize for $parcelable<$($generic,)*>
        where
            Self: $crate::binder_impl::UnstructuredParcelable,
        {
            type UninitType = ::std::option::Option<Self>;

            fn uninit() -> Self::UninitType {
                ::std::option::Option::None
            }

            fn from_init(value: Self) -> Self::UninitType {
                ::std::option::Option::Some(value)
            }

            fn deserialize(
                parcel: &$crate::binder_impl::BorrowedParcel<'_>,
            ) -> ::std::result::Result<Self, $crate::StatusCode> {
                <Self as $crate::binder_impl::DeserializeOption>::deserialize_option(parcel)?
                    .ok_or($crate::StatusCode::UNEXPECTED_NULL)
            }
        }

        impl<$($generic,)*> $crate::binder_impl::DeserializeArray for $parcelable<$($generic,)*>
        where
            Self: $crate::binder_impl::UnstructuredParcelable,
        {
        }

        impl<$($generic,)*> $crate::binder_impl::DeserializeOption for $parcelable<$($generic,)*>
        where
            Self: $crate::binder_impl::UnstructuredParcelable,
        {
            fn deserialize_option(
                parcel: &$crate::binder_impl::BorrowedParcel<'_>,
            ) -> ::std::result::Result<Option<Self>, $crate::StatusCode> {
                if parcel.read::<i32>()? == $crate::binder_impl::NULL_PARCELABLE_FLAG {
                    return Ok(None);
                }
                parcel
                    .read_nested(<Self as $crate::binder_impl::UnstructuredParcelable>::from_parcel)
                    .map(Some)
            }
        }
    };
}
