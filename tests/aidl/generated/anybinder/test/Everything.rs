/*
 * This file is auto-generated.  DO NOT MODIFY.
 * Using: cmd not shown due to `--omit_invocation`
 */
#![forbid(unsafe_code)]
#![cfg_attr(rustfmt, rustfmt_skip)]
#[derive(Debug)]
pub struct r#Everything {
  pub r#flag: bool,
  pub r#small: i8,
  pub r#letter: u16,
  pub r#number: i32,
  pub r#large: i64,
  pub r#single: f32,
  pub r#precise: f64,
  pub r#text: String,
  pub r#maybeText: Option<String>,
  pub r#utf8: String,
  pub r#flags: Vec<bool>,
  pub r#bytes: Vec<u8>,
  pub r#letters: Vec<u16>,
  pub r#numbers: Vec<i32>,
  pub r#larges: Vec<i64>,
  pub r#singles: Vec<f32>,
  pub r#precises: Vec<f64>,
  pub r#texts: Vec<String>,
  pub r#maybeNumbers: Option<Vec<i32>>,
  pub r#maybeTexts: Option<Vec<Option<String>>>,
  pub r#fixed: [i32; 3],
  pub r#matrix: [[i32; 3]; 2],
  pub r#byteEnum: crate::mangled::_9_anybinder_4_test_8_ByteEnum,
  pub r#intEnum: crate::mangled::_9_anybinder_4_test_7_IntEnum,
  pub r#longEnum: crate::mangled::_9_anybinder_4_test_8_LongEnum,
  pub r#intEnums: Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>,
  pub r#point: crate::mangled::_9_anybinder_4_test_5_Point,
  pub r#points: Vec<crate::mangled::_9_anybinder_4_test_5_Point>,
  pub r#maybePoint: Option<crate::mangled::_9_anybinder_4_test_5_Point>,
  pub r#list: Option<Box<crate::mangled::_9_anybinder_4_test_4_Node>>,
  pub r#pair: crate::mangled::_9_anybinder_4_test_4_Pair<i32,String,>,
  pub r#shape: crate::mangled::_9_anybinder_4_test_5_Shape,
  pub r#lines: Vec<String>,
  pub r#file: Option<binder::ParcelFileDescriptor>,
  pub r#binder: Option<binder::SpIBinder>,
  pub r#callback: Option<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>,
  pub r#callbacks: Option<Vec<Option<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>>>,
  pub r#extra: binder::ParcelableHolder,
  pub r#inner: crate::mangled::_9_anybinder_4_test_10_Everything_5_Inner,
}
pub const r#LIMIT: i32 = 16;
pub const r#GREETING: &str = "hello";
impl Default for r#Everything {
  fn default() -> Self {
    Self {
      r#flag: true,
      r#small: -7,
      r#letter: 'x' as u16,
      r#number: 16,
      r#large: 1099511627776,
      r#single: 1.500000f32,
      r#precise: -0.250000f64,
      r#text: "hello".into(),
      r#maybeText: Default::default(),
      r#utf8: Default::default(),
      r#flags: vec![true, false, true],
      r#bytes: vec![1, 2, 3],
      r#letters: Default::default(),
      r#numbers: vec![1, -2, 3],
      r#larges: Default::default(),
      r#singles: vec![1.000000f32],
      r#precises: Default::default(),
      r#texts: vec!["one".into(), "two".into()],
      r#maybeNumbers: Default::default(),
      r#maybeTexts: Default::default(),
      r#fixed: [1, 2, 3],
      r#matrix: [[1, 2, 3], [4, 5, 6]],
      r#byteEnum: crate::mangled::_9_anybinder_4_test_8_ByteEnum::BAR,
      r#intEnum: crate::mangled::_9_anybinder_4_test_7_IntEnum::SAME_AS_FOO,
      r#longEnum: crate::mangled::_9_anybinder_4_test_8_LongEnum::BAR,
      r#intEnums: vec![crate::mangled::_9_anybinder_4_test_7_IntEnum::FOO],
      r#point: Default::default(),
      r#points: Default::default(),
      r#maybePoint: Default::default(),
      r#list: Default::default(),
      r#pair: Default::default(),
      r#shape: Default::default(),
      r#lines: Default::default(),
      r#file: Default::default(),
      r#binder: Default::default(),
      r#callback: Default::default(),
      r#callbacks: Default::default(),
      r#extra: binder::ParcelableHolder::new(binder::binder_impl::Stability::Local),
      r#inner: Default::default(),
    }
  }
}
impl binder::Parcelable for r#Everything {
  fn write_to_parcel(&self, parcel: &mut binder::binder_impl::BorrowedParcel) -> std::result::Result<(), binder::StatusCode> {
    parcel.sized_write(|subparcel| {
      subparcel.write(&self.r#flag)?;
      subparcel.write(&self.r#small)?;
      subparcel.write(&self.r#letter)?;
      subparcel.write(&self.r#number)?;
      subparcel.write(&self.r#large)?;
      subparcel.write(&self.r#single)?;
      subparcel.write(&self.r#precise)?;
      subparcel.write(&self.r#text)?;
      subparcel.write(&self.r#maybeText)?;
      subparcel.write(&self.r#utf8)?;
      subparcel.write(&self.r#flags)?;
      subparcel.write(&self.r#bytes)?;
      subparcel.write(&self.r#letters)?;
      subparcel.write(&self.r#numbers)?;
      subparcel.write(&self.r#larges)?;
      subparcel.write(&self.r#singles)?;
      subparcel.write(&self.r#precises)?;
      subparcel.write(&self.r#texts)?;
      subparcel.write(&self.r#maybeNumbers)?;
      subparcel.write(&self.r#maybeTexts)?;
      subparcel.write(&self.r#fixed)?;
      subparcel.write(&self.r#matrix)?;
      subparcel.write(&self.r#byteEnum)?;
      subparcel.write(&self.r#intEnum)?;
      subparcel.write(&self.r#longEnum)?;
      subparcel.write(&self.r#intEnums)?;
      subparcel.write(&self.r#point)?;
      subparcel.write(&self.r#points)?;
      subparcel.write(&self.r#maybePoint)?;
      subparcel.write(&self.r#list)?;
      subparcel.write(&self.r#pair)?;
      subparcel.write(&self.r#shape)?;
      subparcel.write(&self.r#lines)?;
      subparcel.write(&self.r#file)?;
      subparcel.write(&self.r#binder)?;
      subparcel.write(&self.r#callback)?;
      subparcel.write(&self.r#callbacks)?;
      subparcel.write(&self.r#extra)?;
      subparcel.write(&self.r#inner)?;
      Ok(())
    })
  }
  fn read_from_parcel(&mut self, parcel: &binder::binder_impl::BorrowedParcel) -> std::result::Result<(), binder::StatusCode> {
    parcel.sized_read(|subparcel| {
      if subparcel.has_more_data() {
        self.r#flag = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#small = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#letter = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#number = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#large = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#single = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#precise = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#text = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#maybeText = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#utf8 = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#flags = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#bytes = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#letters = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#numbers = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#larges = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#singles = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#precises = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#texts = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#maybeNumbers = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#maybeTexts = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#fixed = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#matrix = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#byteEnum = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#intEnum = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#longEnum = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#intEnums = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#point = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#points = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#maybePoint = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#list = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#pair = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#shape = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#lines = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#file = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#binder = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#callback = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#callbacks = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#extra = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#inner = subparcel.read()?;
      }
      Ok(())
    })
  }
}
binder::impl_serialize_for_parcelable!(r#Everything);
binder::impl_deserialize_for_parcelable!(r#Everything);
impl binder::binder_impl::ParcelableMetadata for r#Everything {
  fn get_descriptor() -> &'static str { "anybinder.test.Everything" }
}
pub mod r#Inner {
  #[derive(Debug, PartialEq)]
  pub struct r#Inner {
    pub r#depth: i32,
    pub r#kind: crate::mangled::_9_anybinder_4_test_10_Everything_5_Inner_4_Kind,
  }
  impl Default for r#Inner {
    fn default() -> Self {
      Self {
        r#depth: 2,
        r#kind: crate::mangled::_9_anybinder_4_test_10_Everything_5_Inner_4_Kind::SECOND,
      }
    }
  }
  impl binder::Parcelable for r#Inner {
    fn write_to_parcel(&self, parcel: &mut binder::binder_impl::BorrowedParcel) -> std::result::Result<(), binder::StatusCode> {
      parcel.sized_write(|subparcel| {
        subparcel.write(&self.r#depth)?;
        subparcel.write(&self.r#kind)?;
        Ok(())
      })
    }
    fn read_from_parcel(&mut self, parcel: &binder::binder_impl::BorrowedParcel) -> std::result::Result<(), binder::StatusCode> {
      parcel.sized_read(|subparcel| {
        if subparcel.has_more_data() {
          self.r#depth = subparcel.read()?;
        }
        if subparcel.has_more_data() {
          self.r#kind = subparcel.read()?;
        }
        Ok(())
      })
    }
  }
  binder::impl_serialize_for_parcelable!(r#Inner);
  binder::impl_deserialize_for_parcelable!(r#Inner);
  impl binder::binder_impl::ParcelableMetadata for r#Inner {
    fn get_descriptor() -> &'static str { "anybinder.test.Everything.Inner" }
  }
  pub mod r#Kind {
    #![allow(non_upper_case_globals)]
    use binder::declare_binder_enum;
    declare_binder_enum! {
      r#Kind : [i32; 2] {
        r#FIRST = 0,
        r#SECOND = 1,
      }
    }
  }
}
pub(crate) mod mangled {
 pub use super::r#Everything as _9_anybinder_4_test_10_Everything;
 pub use super::r#Inner::r#Inner as _9_anybinder_4_test_10_Everything_5_Inner;
 pub use super::r#Inner::r#Kind::r#Kind as _9_anybinder_4_test_10_Everything_5_Inner_4_Kind;
}
