/*
 * This file is auto-generated.  DO NOT MODIFY.
 * Using: cmd not shown due to `--omit_invocation`
 */
#![forbid(unsafe_code)]
#![cfg_attr(rustfmt, rustfmt_skip)]
#[derive(Debug, Clone, PartialEq)]
pub enum r#Tree {
  Leaf(i32),
  Left(Option<Box<crate::mangled::_9_anybinder_4_test_4_Tree>>),
  Branches(Vec<crate::mangled::_9_anybinder_4_test_4_Tree>),
}
impl Default for r#Tree {
  fn default() -> Self {
    Self::Leaf(0)
  }
}
impl binder::Parcelable for r#Tree {
  fn write_to_parcel(&self, parcel: &mut binder::binder_impl::BorrowedParcel) -> std::result::Result<(), binder::StatusCode> {
    match self {
      Self::Leaf(v) => {
        parcel.write(&0i32)?;
        parcel.write(v)
      }
      Self::Left(v) => {
        parcel.write(&1i32)?;
        parcel.write(v)
      }
      Self::Branches(v) => {
        parcel.write(&2i32)?;
        parcel.write(v)
      }
    }
  }
  fn read_from_parcel(&mut self, parcel: &binder::binder_impl::BorrowedParcel) -> std::result::Result<(), binder::StatusCode> {
    let tag: i32 = parcel.read()?;
    match tag {
      0 => {
        let value: i32 = parcel.read()?;
        *self = Self::Leaf(value);
        Ok(())
      }
      1 => {
        let value: Option<Box<crate::mangled::_9_anybinder_4_test_4_Tree>> = parcel.read()?;
        *self = Self::Left(value);
        Ok(())
      }
      2 => {
        let value: Vec<crate::mangled::_9_anybinder_4_test_4_Tree> = parcel.read()?;
        *self = Self::Branches(value);
        Ok(())
      }
      _ => {
        Err(binder::StatusCode::BAD_VALUE)
      }
    }
  }
}
binder::impl_serialize_for_parcelable!(r#Tree);
binder::impl_deserialize_for_parcelable!(r#Tree);
impl binder::binder_impl::ParcelableMetadata for r#Tree {
  fn get_descriptor() -> &'static str { "anybinder.test.Tree" }
}
pub mod r#Tag {
  #![allow(non_upper_case_globals)]
  use binder::declare_binder_enum;
  declare_binder_enum! {
    r#Tag : [i32; 3] {
      r#leaf = 0,
      r#left = 1,
      r#branches = 2,
    }
  }
}
pub(crate) mod mangled {
 pub use super::r#Tree as _9_anybinder_4_test_4_Tree;
 pub use super::r#Tag::r#Tag as _9_anybinder_4_test_4_Tree_3_Tag;
}
