/*
 * This file is auto-generated.  DO NOT MODIFY.
 * Using: cmd not shown due to `--omit_invocation`
 */
#![forbid(unsafe_code)]
#![cfg_attr(rustfmt, rustfmt_skip)]
#[derive(Debug, Clone, PartialEq)]
pub enum r#Shape {
  Numbers(Vec<i32>),
  Number(i32),
  Text(String),
  Maybe(Option<String>),
  Point(crate::mangled::_9_anybinder_4_test_5_Point),
  Points(Vec<crate::mangled::_9_anybinder_4_test_5_Point>),
  Kind(crate::mangled::_9_anybinder_4_test_8_ByteEnum),
}
impl Default for r#Shape {
  fn default() -> Self {
    Self::Numbers(vec![])
  }
}
impl binder::Parcelable for r#Shape {
  fn write_to_parcel(&self, parcel: &mut binder::binder_impl::BorrowedParcel) -> std::result::Result<(), binder::StatusCode> {
    match self {
      Self::Numbers(v) => {
        parcel.write(&0i32)?;
        parcel.write(v)
      }
      Self::Number(v) => {
        parcel.write(&1i32)?;
        parcel.write(v)
      }
      Self::Text(v) => {
        parcel.write(&2i32)?;
        parcel.write(v)
      }
      Self::Maybe(v) => {
        parcel.write(&3i32)?;
        parcel.write(v)
      }
      Self::Point(v) => {
        parcel.write(&4i32)?;
        parcel.write(v)
      }
      Self::Points(v) => {
        parcel.write(&5i32)?;
        parcel.write(v)
      }
      Self::Kind(v) => {
        parcel.write(&6i32)?;
        parcel.write(v)
      }
    }
  }
  fn read_from_parcel(&mut self, parcel: &binder::binder_impl::BorrowedParcel) -> std::result::Result<(), binder::StatusCode> {
    let tag: i32 = parcel.read()?;
    match tag {
      0 => {
        let value: Vec<i32> = parcel.read()?;
        *self = Self::Numbers(value);
        Ok(())
      }
      1 => {
        let value: i32 = parcel.read()?;
        *self = Self::Number(value);
        Ok(())
      }
      2 => {
        let value: String = parcel.read()?;
        *self = Self::Text(value);
        Ok(())
      }
      3 => {
        let value: Option<String> = parcel.read()?;
        *self = Self::Maybe(value);
        Ok(())
      }
      4 => {
        let value: crate::mangled::_9_anybinder_4_test_5_Point = parcel.read()?;
        *self = Self::Point(value);
        Ok(())
      }
      5 => {
        let value: Vec<crate::mangled::_9_anybinder_4_test_5_Point> = parcel.read()?;
        *self = Self::Points(value);
        Ok(())
      }
      6 => {
        let value: crate::mangled::_9_anybinder_4_test_8_ByteEnum = parcel.read()?;
        *self = Self::Kind(value);
        Ok(())
      }
      _ => {
        Err(binder::StatusCode::BAD_VALUE)
      }
    }
  }
}
binder::impl_serialize_for_parcelable!(r#Shape);
binder::impl_deserialize_for_parcelable!(r#Shape);
impl binder::binder_impl::ParcelableMetadata for r#Shape {
  fn get_descriptor() -> &'static str { "anybinder.test.Shape" }
}
pub mod r#Tag {
  #![allow(non_upper_case_globals)]
  use binder::declare_binder_enum;
  declare_binder_enum! {
    r#Tag : [i32; 7] {
      r#numbers = 0,
      r#number = 1,
      r#text = 2,
      r#maybe = 3,
      r#point = 4,
      r#points = 5,
      r#kind = 6,
    }
  }
}
pub(crate) mod mangled {
 pub use super::r#Shape as _9_anybinder_4_test_5_Shape;
 pub use super::r#Tag::r#Tag as _9_anybinder_4_test_5_Shape_3_Tag;
}
