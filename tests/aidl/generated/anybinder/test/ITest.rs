/*
 * This file is auto-generated.  DO NOT MODIFY.
 * Using: cmd not shown due to `--omit_invocation`
 */
#![forbid(unsafe_code)]
#![cfg_attr(rustfmt, rustfmt_skip)]
#![allow(non_upper_case_globals)]
#![allow(non_snake_case)]
#[allow(unused_imports)] use binder::binder_impl::IBinderInternal;
use binder::declare_binder_interface;
declare_binder_interface! {
  ITest["anybinder.test.ITest"] {
    native: BnTest(on_transact),
    proxy: BpTest {
    },
    async: ITestAsync,
  }
}
pub trait ITest: binder::Interface + Send {
  fn get_descriptor() -> &'static str where Self: Sized { "anybinder.test.ITest" }
  fn r#repeatBoolean(&self, _arg_value: bool) -> binder::Result<bool>;
  fn r#repeatByte(&self, _arg_value: i8) -> binder::Result<i8>;
  fn r#repeatChar(&self, _arg_value: u16) -> binder::Result<u16>;
  fn r#repeatInt(&self, _arg_value: i32) -> binder::Result<i32>;
  fn r#repeatLong(&self, _arg_value: i64) -> binder::Result<i64>;
  fn r#repeatFloat(&self, _arg_value: f32) -> binder::Result<f32>;
  fn r#repeatDouble(&self, _arg_value: f64) -> binder::Result<f64>;
  fn r#repeatString(&self, _arg_value: &str) -> binder::Result<String>;
  fn r#repeatUtf8(&self, _arg_value: &str) -> binder::Result<String>;
  fn r#repeatByteEnum(&self, _arg_value: crate::mangled::_9_anybinder_4_test_8_ByteEnum) -> binder::Result<crate::mangled::_9_anybinder_4_test_8_ByteEnum>;
  fn r#repeatIntEnum(&self, _arg_value: crate::mangled::_9_anybinder_4_test_7_IntEnum) -> binder::Result<crate::mangled::_9_anybinder_4_test_7_IntEnum>;
  fn r#repeatLongEnum(&self, _arg_value: crate::mangled::_9_anybinder_4_test_8_LongEnum) -> binder::Result<crate::mangled::_9_anybinder_4_test_8_LongEnum>;
  fn r#reverseBoolean(&self, _arg_value: &[bool], _arg_copy: &mut Vec<bool>) -> binder::Result<Vec<bool>>;
  fn r#reverseByte(&self, _arg_value: &[u8], _arg_copy: &mut Vec<u8>) -> binder::Result<Vec<u8>>;
  fn r#reverseChar(&self, _arg_value: &[u16], _arg_copy: &mut Vec<u16>) -> binder::Result<Vec<u16>>;
  fn r#reverseInt(&self, _arg_value: &[i32], _arg_copy: &mut Vec<i32>) -> binder::Result<Vec<i32>>;
  fn r#reverseLong(&self, _arg_value: &[i64], _arg_copy: &mut Vec<i64>) -> binder::Result<Vec<i64>>;
  fn r#reverseFloat(&self, _arg_value: &[f32], _arg_copy: &mut Vec<f32>) -> binder::Result<Vec<f32>>;
  fn r#reverseDouble(&self, _arg_value: &[f64], _arg_copy: &mut Vec<f64>) -> binder::Result<Vec<f64>>;
  fn r#reverseString(&self, _arg_value: &[String], _arg_copy: &mut Vec<String>) -> binder::Result<Vec<String>>;
  fn r#reverseByteEnum(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_8_ByteEnum], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_8_ByteEnum>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_8_ByteEnum>>;
  fn r#reverseIntEnum(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_7_IntEnum], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>>;
  fn r#reverseLongEnum(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_8_LongEnum], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_8_LongEnum>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_8_LongEnum>>;
  fn r#reverseList(&self, _arg_value: &[String], _arg_copy: &mut Vec<String>) -> binder::Result<Vec<String>>;
  fn r#reversePoints(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_5_Point], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_5_Point>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_5_Point>>;
  fn r#maybeString(&self, _arg_value: Option<&str>) -> binder::Result<Option<String>>;
  fn r#maybeList(&self, _arg_value: Option<&[Option<String>]>) -> binder::Result<Option<Vec<Option<String>>>>;
  fn r#maybeInts(&self, _arg_value: Option<&[i32]>) -> binder::Result<Option<Vec<i32>>>;
  fn r#maybeBytes(&self, _arg_value: Option<&[u8]>) -> binder::Result<Option<Vec<u8>>>;
  fn r#maybeBooleans(&self, _arg_value: Option<&[bool]>, _arg_copy: &mut Option<Vec<bool>>) -> binder::Result<Option<Vec<bool>>>;
  fn r#maybeEnums(&self, _arg_value: Option<&[crate::mangled::_9_anybinder_4_test_7_IntEnum]>) -> binder::Result<Option<Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>>>;
  fn r#maybeStrings(&self, _arg_value: Option<&[Option<String>]>) -> binder::Result<Option<Vec<Option<String>>>>;
  fn r#maybePoint(&self, _arg_value: Option<&crate::mangled::_9_anybinder_4_test_5_Point>) -> binder::Result<Option<crate::mangled::_9_anybinder_4_test_5_Point>>;
  fn r#maybePoints(&self, _arg_value: Option<&[Option<crate::mangled::_9_anybinder_4_test_5_Point>]>) -> binder::Result<Option<Vec<Option<crate::mangled::_9_anybinder_4_test_5_Point>>>>;
  fn r#maybeShape(&self, _arg_value: Option<&crate::mangled::_9_anybinder_4_test_5_Shape>) -> binder::Result<Option<crate::mangled::_9_anybinder_4_test_5_Shape>>;
  fn r#maybeBinder(&self, _arg_value: Option<&binder::SpIBinder>) -> binder::Result<Option<binder::SpIBinder>>;
  fn r#maybeCallback(&self, _arg_value: Option<&binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>) -> binder::Result<Option<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>>;
  fn r#maybeFile(&self, _arg_value: Option<&binder::ParcelFileDescriptor>) -> binder::Result<Option<binder::ParcelFileDescriptor>>;
  fn r#maybeNode(&self, _arg_value: Option<&crate::mangled::_9_anybinder_4_test_4_Node>) -> binder::Result<Option<crate::mangled::_9_anybinder_4_test_4_Node>>;
  fn r#repeatFixed(&self, _arg_value: &[i32; 3], _arg_copy: &mut [i32; 3]) -> binder::Result<[i32; 3]>;
  fn r#repeatMatrix(&self, _arg_value: &[[i32; 3]; 2], _arg_copy: &mut [[i32; 3]; 2]) -> binder::Result<[[i32; 3]; 2]>;
  fn r#repeatFixedPoints(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_5_Point; 2], _arg_copy: &mut [crate::mangled::_9_anybinder_4_test_5_Point; 2]) -> binder::Result<[crate::mangled::_9_anybinder_4_test_5_Point; 2]>;
  fn r#repeatFixedBinders(&self, _arg_value: Option<&[Option<binder::SpIBinder>; 2]>) -> binder::Result<Option<[Option<binder::SpIBinder>; 2]>>;
  fn r#repeatEverything(&self, _arg_value: &crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::Result<crate::mangled::_9_anybinder_4_test_10_Everything>;
  fn r#fillEverything(&self, _arg_value: &mut crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::Result<()>;
  fn r#changeEverything(&self, _arg_value: &mut crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::Result<()>;
  fn r#repeatShape(&self, _arg_value: &crate::mangled::_9_anybinder_4_test_5_Shape) -> binder::Result<crate::mangled::_9_anybinder_4_test_5_Shape>;
  fn r#repeatTree(&self, _arg_value: &crate::mangled::_9_anybinder_4_test_4_Tree) -> binder::Result<crate::mangled::_9_anybinder_4_test_4_Tree>;
  fn r#repeatBinder(&self, _arg_value: &binder::SpIBinder) -> binder::Result<binder::SpIBinder>;
  fn r#repeatBinders(&self, _arg_value: &[binder::SpIBinder]) -> binder::Result<Vec<binder::SpIBinder>>;
  fn r#repeatFile(&self, _arg_value: &binder::ParcelFileDescriptor) -> binder::Result<binder::ParcelFileDescriptor>;
  fn r#reverseFiles(&self, _arg_value: &[binder::ParcelFileDescriptor], _arg_copy: &mut Vec<Option<binder::ParcelFileDescriptor>>) -> binder::Result<Vec<binder::ParcelFileDescriptor>>;
  fn r#repeatCallback(&self, _arg_value: &binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>) -> binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>;
  fn r#repeatCallbacks(&self, _arg_value: &[binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>]) -> binder::Result<Vec<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>>;
  fn r#askThrough(&self, _arg_callback: &binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>, _arg_question: i32) -> binder::Result<i32>;
  fn r#noticeThrough(&self, _arg_callback: &binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>, _arg_number: i32) -> binder::Result<()>;
  fn r#makeCallback(&self, _arg_offset: i32) -> binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>;
  fn r#secret(&self) -> binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_5_ITest_7_ISecret>>;
  fn r#fail(&self, _arg_exception: i32, _arg_message: &str) -> binder::Result<()>;
  fn r#failSpecific(&self, _arg_error: i32, _arg_message: &str) -> binder::Result<()>;
  fn r#failStatus(&self, _arg_status: i32) -> binder::Result<()>;
  fn r#callingIdentity(&self, _arg_pidAndUid: &mut Vec<i32>) -> binder::Result<()>;
  fn r#add(&self, _arg_number: i32) -> binder::Result<()>;
  fn r#added(&self) -> binder::Result<Vec<i32>>;
  fn getDefaultImpl() -> ITestDefaultRef where Self: Sized {
    DEFAULT_IMPL.lock().unwrap().clone()
  }
  fn setDefaultImpl(d: ITestDefaultRef) -> ITestDefaultRef where Self: Sized {
    std::mem::replace(&mut *DEFAULT_IMPL.lock().unwrap(), d)
  }
}
pub trait ITestAsync<P>: binder::Interface + Send {
  fn get_descriptor() -> &'static str where Self: Sized { "anybinder.test.ITest" }
  fn r#repeatBoolean<'a>(&'a self, _arg_value: bool) -> binder::BoxFuture<'a, binder::Result<bool>>;
  fn r#repeatByte<'a>(&'a self, _arg_value: i8) -> binder::BoxFuture<'a, binder::Result<i8>>;
  fn r#repeatChar<'a>(&'a self, _arg_value: u16) -> binder::BoxFuture<'a, binder::Result<u16>>;
  fn r#repeatInt<'a>(&'a self, _arg_value: i32) -> binder::BoxFuture<'a, binder::Result<i32>>;
  fn r#repeatLong<'a>(&'a self, _arg_value: i64) -> binder::BoxFuture<'a, binder::Result<i64>>;
  fn r#repeatFloat<'a>(&'a self, _arg_value: f32) -> binder::BoxFuture<'a, binder::Result<f32>>;
  fn r#repeatDouble<'a>(&'a self, _arg_value: f64) -> binder::BoxFuture<'a, binder::Result<f64>>;
  fn r#repeatString<'a>(&'a self, _arg_value: &'a str) -> binder::BoxFuture<'a, binder::Result<String>>;
  fn r#repeatUtf8<'a>(&'a self, _arg_value: &'a str) -> binder::BoxFuture<'a, binder::Result<String>>;
  fn r#repeatByteEnum<'a>(&'a self, _arg_value: crate::mangled::_9_anybinder_4_test_8_ByteEnum) -> binder::BoxFuture<'a, binder::Result<crate::mangled::_9_anybinder_4_test_8_ByteEnum>>;
  fn r#repeatIntEnum<'a>(&'a self, _arg_value: crate::mangled::_9_anybinder_4_test_7_IntEnum) -> binder::BoxFuture<'a, binder::Result<crate::mangled::_9_anybinder_4_test_7_IntEnum>>;
  fn r#repeatLongEnum<'a>(&'a self, _arg_value: crate::mangled::_9_anybinder_4_test_8_LongEnum) -> binder::BoxFuture<'a, binder::Result<crate::mangled::_9_anybinder_4_test_8_LongEnum>>;
  fn r#reverseBoolean<'a>(&'a self, _arg_value: &'a [bool], _arg_copy: &'a mut Vec<bool>) -> binder::BoxFuture<'a, binder::Result<Vec<bool>>>;
  fn r#reverseByte<'a>(&'a self, _arg_value: &'a [u8], _arg_copy: &'a mut Vec<u8>) -> binder::BoxFuture<'a, binder::Result<Vec<u8>>>;
  fn r#reverseChar<'a>(&'a self, _arg_value: &'a [u16], _arg_copy: &'a mut Vec<u16>) -> binder::BoxFuture<'a, binder::Result<Vec<u16>>>;
  fn r#reverseInt<'a>(&'a self, _arg_value: &'a [i32], _arg_copy: &'a mut Vec<i32>) -> binder::BoxFuture<'a, binder::Result<Vec<i32>>>;
  fn r#reverseLong<'a>(&'a self, _arg_value: &'a [i64], _arg_copy: &'a mut Vec<i64>) -> binder::BoxFuture<'a, binder::Result<Vec<i64>>>;
  fn r#reverseFloat<'a>(&'a self, _arg_value: &'a [f32], _arg_copy: &'a mut Vec<f32>) -> binder::BoxFuture<'a, binder::Result<Vec<f32>>>;
  fn r#reverseDouble<'a>(&'a self, _arg_value: &'a [f64], _arg_copy: &'a mut Vec<f64>) -> binder::BoxFuture<'a, binder::Result<Vec<f64>>>;
  fn r#reverseString<'a>(&'a self, _arg_value: &'a [String], _arg_copy: &'a mut Vec<String>) -> binder::BoxFuture<'a, binder::Result<Vec<String>>>;
  fn r#reverseByteEnum<'a>(&'a self, _arg_value: &'a [crate::mangled::_9_anybinder_4_test_8_ByteEnum], _arg_copy: &'a mut Vec<crate::mangled::_9_anybinder_4_test_8_ByteEnum>) -> binder::BoxFuture<'a, binder::Result<Vec<crate::mangled::_9_anybinder_4_test_8_ByteEnum>>>;
  fn r#reverseIntEnum<'a>(&'a self, _arg_value: &'a [crate::mangled::_9_anybinder_4_test_7_IntEnum], _arg_copy: &'a mut Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>) -> binder::BoxFuture<'a, binder::Result<Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>>>;
  fn r#reverseLongEnum<'a>(&'a self, _arg_value: &'a [crate::mangled::_9_anybinder_4_test_8_LongEnum], _arg_copy: &'a mut Vec<crate::mangled::_9_anybinder_4_test_8_LongEnum>) -> binder::BoxFuture<'a, binder::Result<Vec<crate::mangled::_9_anybinder_4_test_8_LongEnum>>>;
  fn r#reverseList<'a>(&'a self, _arg_value: &'a [String], _arg_copy: &'a mut Vec<String>) -> binder::BoxFuture<'a, binder::Result<Vec<String>>>;
  fn r#reversePoints<'a>(&'a self, _arg_value: &'a [crate::mangled::_9_anybinder_4_test_5_Point], _arg_copy: &'a mut Vec<crate::mangled::_9_anybinder_4_test_5_Point>) -> binder::BoxFuture<'a, binder::Result<Vec<crate::mangled::_9_anybinder_4_test_5_Point>>>;
  fn r#maybeString<'a>(&'a self, _arg_value: Option<&'a str>) -> binder::BoxFuture<'a, binder::Result<Option<String>>>;
  fn r#maybeList<'a>(&'a self, _arg_value: Option<&'a [Option<String>]>) -> binder::BoxFuture<'a, binder::Result<Option<Vec<Option<String>>>>>;
  fn r#maybeInts<'a>(&'a self, _arg_value: Option<&'a [i32]>) -> binder::BoxFuture<'a, binder::Result<Option<Vec<i32>>>>;
  fn r#maybeBytes<'a>(&'a self, _arg_value: Option<&'a [u8]>) -> binder::BoxFuture<'a, binder::Result<Option<Vec<u8>>>>;
  fn r#maybeBooleans<'a>(&'a self, _arg_value: Option<&'a [bool]>, _arg_copy: &'a mut Option<Vec<bool>>) -> binder::BoxFuture<'a, binder::Result<Option<Vec<bool>>>>;
  fn r#maybeEnums<'a>(&'a self, _arg_value: Option<&'a [crate::mangled::_9_anybinder_4_test_7_IntEnum]>) -> binder::BoxFuture<'a, binder::Result<Option<Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>>>>;
  fn r#maybeStrings<'a>(&'a self, _arg_value: Option<&'a [Option<String>]>) -> binder::BoxFuture<'a, binder::Result<Option<Vec<Option<String>>>>>;
  fn r#maybePoint<'a>(&'a self, _arg_value: Option<&'a crate::mangled::_9_anybinder_4_test_5_Point>) -> binder::BoxFuture<'a, binder::Result<Option<crate::mangled::_9_anybinder_4_test_5_Point>>>;
  fn r#maybePoints<'a>(&'a self, _arg_value: Option<&'a [Option<crate::mangled::_9_anybinder_4_test_5_Point>]>) -> binder::BoxFuture<'a, binder::Result<Option<Vec<Option<crate::mangled::_9_anybinder_4_test_5_Point>>>>>;
  fn r#maybeShape<'a>(&'a self, _arg_value: Option<&'a crate::mangled::_9_anybinder_4_test_5_Shape>) -> binder::BoxFuture<'a, binder::Result<Option<crate::mangled::_9_anybinder_4_test_5_Shape>>>;
  fn r#maybeBinder<'a>(&'a self, _arg_value: Option<&'a binder::SpIBinder>) -> binder::BoxFuture<'a, binder::Result<Option<binder::SpIBinder>>>;
  fn r#maybeCallback<'a>(&'a self, _arg_value: Option<&'a binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>) -> binder::BoxFuture<'a, binder::Result<Option<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>>>;
  fn r#maybeFile<'a>(&'a self, _arg_value: Option<&'a binder::ParcelFileDescriptor>) -> binder::BoxFuture<'a, binder::Result<Option<binder::ParcelFileDescriptor>>>;
  fn r#maybeNode<'a>(&'a self, _arg_value: Option<&'a crate::mangled::_9_anybinder_4_test_4_Node>) -> binder::BoxFuture<'a, binder::Result<Option<crate::mangled::_9_anybinder_4_test_4_Node>>>;
  fn r#repeatFixed<'a>(&'a self, _arg_value: &'a [i32; 3], _arg_copy: &'a mut [i32; 3]) -> binder::BoxFuture<'a, binder::Result<[i32; 3]>>;
  fn r#repeatMatrix<'a>(&'a self, _arg_value: &'a [[i32; 3]; 2], _arg_copy: &'a mut [[i32; 3]; 2]) -> binder::BoxFuture<'a, binder::Result<[[i32; 3]; 2]>>;
  fn r#repeatFixedPoints<'a>(&'a self, _arg_value: &'a [crate::mangled::_9_anybinder_4_test_5_Point; 2], _arg_copy: &'a mut [crate::mangled::_9_anybinder_4_test_5_Point; 2]) -> binder::BoxFuture<'a, binder::Result<[crate::mangled::_9_anybinder_4_test_5_Point; 2]>>;
  fn r#repeatFixedBinders<'a>(&'a self, _arg_value: Option<&'a [Option<binder::SpIBinder>; 2]>) -> binder::BoxFuture<'a, binder::Result<Option<[Option<binder::SpIBinder>; 2]>>>;
  fn r#repeatEverything<'a>(&'a self, _arg_value: &'a crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::BoxFuture<'a, binder::Result<crate::mangled::_9_anybinder_4_test_10_Everything>>;
  fn r#fillEverything<'a>(&'a self, _arg_value: &'a mut crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::BoxFuture<'a, binder::Result<()>>;
  fn r#changeEverything<'a>(&'a self, _arg_value: &'a mut crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::BoxFuture<'a, binder::Result<()>>;
  fn r#repeatShape<'a>(&'a self, _arg_value: &'a crate::mangled::_9_anybinder_4_test_5_Shape) -> binder::BoxFuture<'a, binder::Result<crate::mangled::_9_anybinder_4_test_5_Shape>>;
  fn r#repeatTree<'a>(&'a self, _arg_value: &'a crate::mangled::_9_anybinder_4_test_4_Tree) -> binder::BoxFuture<'a, binder::Result<crate::mangled::_9_anybinder_4_test_4_Tree>>;
  fn r#repeatBinder<'a>(&'a self, _arg_value: &'a binder::SpIBinder) -> binder::BoxFuture<'a, binder::Result<binder::SpIBinder>>;
  fn r#repeatBinders<'a>(&'a self, _arg_value: &'a [binder::SpIBinder]) -> binder::BoxFuture<'a, binder::Result<Vec<binder::SpIBinder>>>;
  fn r#repeatFile<'a>(&'a self, _arg_value: &'a binder::ParcelFileDescriptor) -> binder::BoxFuture<'a, binder::Result<binder::ParcelFileDescriptor>>;
  fn r#reverseFiles<'a>(&'a self, _arg_value: &'a [binder::ParcelFileDescriptor], _arg_copy: &'a mut Vec<Option<binder::ParcelFileDescriptor>>) -> binder::BoxFuture<'a, binder::Result<Vec<binder::ParcelFileDescriptor>>>;
  fn r#repeatCallback<'a>(&'a self, _arg_value: &'a binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>) -> binder::BoxFuture<'a, binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>>;
  fn r#repeatCallbacks<'a>(&'a self, _arg_value: &'a [binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>]) -> binder::BoxFuture<'a, binder::Result<Vec<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>>>;
  fn r#askThrough<'a>(&'a self, _arg_callback: &'a binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>, _arg_question: i32) -> binder::BoxFuture<'a, binder::Result<i32>>;
  fn r#noticeThrough(&self, _arg_callback: &binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>, _arg_number: i32) -> std::future::Ready<binder::Result<()>>;
  fn r#makeCallback<'a>(&'a self, _arg_offset: i32) -> binder::BoxFuture<'a, binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>>;
  fn r#secret<'a>(&'a self) -> binder::BoxFuture<'a, binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_5_ITest_7_ISecret>>>;
  fn r#fail<'a>(&'a self, _arg_exception: i32, _arg_message: &'a str) -> binder::BoxFuture<'a, binder::Result<()>>;
  fn r#failSpecific<'a>(&'a self, _arg_error: i32, _arg_message: &'a str) -> binder::BoxFuture<'a, binder::Result<()>>;
  fn r#failStatus<'a>(&'a self, _arg_status: i32) -> binder::BoxFuture<'a, binder::Result<()>>;
  fn r#callingIdentity<'a>(&'a self, _arg_pidAndUid: &'a mut Vec<i32>) -> binder::BoxFuture<'a, binder::Result<()>>;
  fn r#add(&self, _arg_number: i32) -> std::future::Ready<binder::Result<()>>;
  fn r#added<'a>(&'a self) -> binder::BoxFuture<'a, binder::Result<Vec<i32>>>;
}
#[::async_trait::async_trait]
pub trait ITestAsyncServer: binder::Interface + Send {
  fn get_descriptor() -> &'static str where Self: Sized { "anybinder.test.ITest" }
  async fn r#repeatBoolean(&self, _arg_value: bool) -> binder::Result<bool>;
  async fn r#repeatByte(&self, _arg_value: i8) -> binder::Result<i8>;
  async fn r#repeatChar(&self, _arg_value: u16) -> binder::Result<u16>;
  async fn r#repeatInt(&self, _arg_value: i32) -> binder::Result<i32>;
  async fn r#repeatLong(&self, _arg_value: i64) -> binder::Result<i64>;
  async fn r#repeatFloat(&self, _arg_value: f32) -> binder::Result<f32>;
  async fn r#repeatDouble(&self, _arg_value: f64) -> binder::Result<f64>;
  async fn r#repeatString(&self, _arg_value: &str) -> binder::Result<String>;
  async fn r#repeatUtf8(&self, _arg_value: &str) -> binder::Result<String>;
  async fn r#repeatByteEnum(&self, _arg_value: crate::mangled::_9_anybinder_4_test_8_ByteEnum) -> binder::Result<crate::mangled::_9_anybinder_4_test_8_ByteEnum>;
  async fn r#repeatIntEnum(&self, _arg_value: crate::mangled::_9_anybinder_4_test_7_IntEnum) -> binder::Result<crate::mangled::_9_anybinder_4_test_7_IntEnum>;
  async fn r#repeatLongEnum(&self, _arg_value: crate::mangled::_9_anybinder_4_test_8_LongEnum) -> binder::Result<crate::mangled::_9_anybinder_4_test_8_LongEnum>;
  async fn r#reverseBoolean(&self, _arg_value: &[bool], _arg_copy: &mut Vec<bool>) -> binder::Result<Vec<bool>>;
  async fn r#reverseByte(&self, _arg_value: &[u8], _arg_copy: &mut Vec<u8>) -> binder::Result<Vec<u8>>;
  async fn r#reverseChar(&self, _arg_value: &[u16], _arg_copy: &mut Vec<u16>) -> binder::Result<Vec<u16>>;
  async fn r#reverseInt(&self, _arg_value: &[i32], _arg_copy: &mut Vec<i32>) -> binder::Result<Vec<i32>>;
  async fn r#reverseLong(&self, _arg_value: &[i64], _arg_copy: &mut Vec<i64>) -> binder::Result<Vec<i64>>;
  async fn r#reverseFloat(&self, _arg_value: &[f32], _arg_copy: &mut Vec<f32>) -> binder::Result<Vec<f32>>;
  async fn r#reverseDouble(&self, _arg_value: &[f64], _arg_copy: &mut Vec<f64>) -> binder::Result<Vec<f64>>;
  async fn r#reverseString(&self, _arg_value: &[String], _arg_copy: &mut Vec<String>) -> binder::Result<Vec<String>>;
  async fn r#reverseByteEnum(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_8_ByteEnum], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_8_ByteEnum>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_8_ByteEnum>>;
  async fn r#reverseIntEnum(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_7_IntEnum], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>>;
  async fn r#reverseLongEnum(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_8_LongEnum], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_8_LongEnum>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_8_LongEnum>>;
  async fn r#reverseList(&self, _arg_value: &[String], _arg_copy: &mut Vec<String>) -> binder::Result<Vec<String>>;
  async fn r#reversePoints(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_5_Point], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_5_Point>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_5_Point>>;
  async fn r#maybeString(&self, _arg_value: Option<&str>) -> binder::Result<Option<String>>;
  async fn r#maybeList(&self, _arg_value: Option<&[Option<String>]>) -> binder::Result<Option<Vec<Option<String>>>>;
  async fn r#maybeInts(&self, _arg_value: Option<&[i32]>) -> binder::Result<Option<Vec<i32>>>;
  async fn r#maybeBytes(&self, _arg_value: Option<&[u8]>) -> binder::Result<Option<Vec<u8>>>;
  async fn r#maybeBooleans(&self, _arg_value: Option<&[bool]>, _arg_copy: &mut Option<Vec<bool>>) -> binder::Result<Option<Vec<bool>>>;
  async fn r#maybeEnums(&self, _arg_value: Option<&[crate::mangled::_9_anybinder_4_test_7_IntEnum]>) -> binder::Result<Option<Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>>>;
  async fn r#maybeStrings(&self, _arg_value: Option<&[Option<String>]>) -> binder::Result<Option<Vec<Option<String>>>>;
  async fn r#maybePoint(&self, _arg_value: Option<&crate::mangled::_9_anybinder_4_test_5_Point>) -> binder::Result<Option<crate::mangled::_9_anybinder_4_test_5_Point>>;
  async fn r#maybePoints(&self, _arg_value: Option<&[Option<crate::mangled::_9_anybinder_4_test_5_Point>]>) -> binder::Result<Option<Vec<Option<crate::mangled::_9_anybinder_4_test_5_Point>>>>;
  async fn r#maybeShape(&self, _arg_value: Option<&crate::mangled::_9_anybinder_4_test_5_Shape>) -> binder::Result<Option<crate::mangled::_9_anybinder_4_test_5_Shape>>;
  async fn r#maybeBinder(&self, _arg_value: Option<&binder::SpIBinder>) -> binder::Result<Option<binder::SpIBinder>>;
  async fn r#maybeCallback(&self, _arg_value: Option<&binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>) -> binder::Result<Option<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>>;
  async fn r#maybeFile(&self, _arg_value: Option<&binder::ParcelFileDescriptor>) -> binder::Result<Option<binder::ParcelFileDescriptor>>;
  async fn r#maybeNode(&self, _arg_value: Option<&crate::mangled::_9_anybinder_4_test_4_Node>) -> binder::Result<Option<crate::mangled::_9_anybinder_4_test_4_Node>>;
  async fn r#repeatFixed(&self, _arg_value: &[i32; 3], _arg_copy: &mut [i32; 3]) -> binder::Result<[i32; 3]>;
  async fn r#repeatMatrix(&self, _arg_value: &[[i32; 3]; 2], _arg_copy: &mut [[i32; 3]; 2]) -> binder::Result<[[i32; 3]; 2]>;
  async fn r#repeatFixedPoints(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_5_Point; 2], _arg_copy: &mut [crate::mangled::_9_anybinder_4_test_5_Point; 2]) -> binder::Result<[crate::mangled::_9_anybinder_4_test_5_Point; 2]>;
  async fn r#repeatFixedBinders(&self, _arg_value: Option<&[Option<binder::SpIBinder>; 2]>) -> binder::Result<Option<[Option<binder::SpIBinder>; 2]>>;
  async fn r#repeatEverything(&self, _arg_value: &crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::Result<crate::mangled::_9_anybinder_4_test_10_Everything>;
  async fn r#fillEverything(&self, _arg_value: &mut crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::Result<()>;
  async fn r#changeEverything(&self, _arg_value: &mut crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::Result<()>;
  async fn r#repeatShape(&self, _arg_value: &crate::mangled::_9_anybinder_4_test_5_Shape) -> binder::Result<crate::mangled::_9_anybinder_4_test_5_Shape>;
  async fn r#repeatTree(&self, _arg_value: &crate::mangled::_9_anybinder_4_test_4_Tree) -> binder::Result<crate::mangled::_9_anybinder_4_test_4_Tree>;
  async fn r#repeatBinder(&self, _arg_value: &binder::SpIBinder) -> binder::Result<binder::SpIBinder>;
  async fn r#repeatBinders(&self, _arg_value: &[binder::SpIBinder]) -> binder::Result<Vec<binder::SpIBinder>>;
  async fn r#repeatFile(&self, _arg_value: &binder::ParcelFileDescriptor) -> binder::Result<binder::ParcelFileDescriptor>;
  async fn r#reverseFiles(&self, _arg_value: &[binder::ParcelFileDescriptor], _arg_copy: &mut Vec<Option<binder::ParcelFileDescriptor>>) -> binder::Result<Vec<binder::ParcelFileDescriptor>>;
  async fn r#repeatCallback(&self, _arg_value: &binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>) -> binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>;
  async fn r#repeatCallbacks(&self, _arg_value: &[binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>]) -> binder::Result<Vec<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>>;
  async fn r#askThrough(&self, _arg_callback: &binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>, _arg_question: i32) -> binder::Result<i32>;
  async fn r#noticeThrough(&self, _arg_callback: &binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>, _arg_number: i32) -> binder::Result<()>;
  async fn r#makeCallback(&self, _arg_offset: i32) -> binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>;
  async fn r#secret(&self) -> binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_5_ITest_7_ISecret>>;
  async fn r#fail(&self, _arg_exception: i32, _arg_message: &str) -> binder::Result<()>;
  async fn r#failSpecific(&self, _arg_error: i32, _arg_message: &str) -> binder::Result<()>;
  async fn r#failStatus(&self, _arg_status: i32) -> binder::Result<()>;
  async fn r#callingIdentity(&self, _arg_pidAndUid: &mut Vec<i32>) -> binder::Result<()>;
  async fn r#add(&self, _arg_number: i32) -> binder::Result<()>;
  async fn r#added(&self) -> binder::Result<Vec<i32>>;
}
impl BnTest {
  /// Create a new async binder service.
  pub fn new_async_binder<T, R>(inner: T, rt: R, features: binder::BinderFeatures) -> binder::Strong<dyn ITest>
  where
    T: ITestAsyncServer + binder::Interface + Send + Sync + 'static,
    R: binder::binder_impl::BinderAsyncRuntime + Send + Sync + 'static,
  {
    struct Wrapper<T, R> {
      _inner: T,
      _rt: R,
    }
    impl<T, R> binder::Interface for Wrapper<T, R> where T: binder::Interface, R: Send + Sync + 'static {
      fn as_binder(&self) -> binder::SpIBinder { self._inner.as_binder() }
      fn dump(&self, _writer: &mut dyn std::io::Write, _args: &[&std::ffi::CStr]) -> std::result::Result<(), binder::StatusCode> { self._inner.dump(_writer, _args) }
    }
    impl<T, R> ITest for Wrapper<T, R>
    where
      T: ITestAsyncServer + Send + Sync + 'static,
      R: binder::binder_impl::BinderAsyncRuntime + Send + Sync + 'static,
    {
      fn r#repeatBoolean(&self, _arg_value: bool) -> binder::Result<bool> {
        self._rt.block_on(self._inner.r#repeatBoolean(_arg_value))
      }
      fn r#repeatByte(&self, _arg_value: i8) -> binder::Result<i8> {
        self._rt.block_on(self._inner.r#repeatByte(_arg_value))
      }
      fn r#repeatChar(&self, _arg_value: u16) -> binder::Result<u16> {
        self._rt.block_on(self._inner.r#repeatChar(_arg_value))
      }
      fn r#repeatInt(&self, _arg_value: i32) -> binder::Result<i32> {
        self._rt.block_on(self._inner.r#repeatInt(_arg_value))
      }
      fn r#repeatLong(&self, _arg_value: i64) -> binder::Result<i64> {
        self._rt.block_on(self._inner.r#repeatLong(_arg_value))
      }
      fn r#repeatFloat(&self, _arg_value: f32) -> binder::Result<f32> {
        self._rt.block_on(self._inner.r#repeatFloat(_arg_value))
      }
      fn r#repeatDouble(&self, _arg_value: f64) -> binder::Result<f64> {
        self._rt.block_on(self._inner.r#repeatDouble(_arg_value))
      }
      fn r#repeatString(&self, _arg_value: &str) -> binder::Result<String> {
        self._rt.block_on(self._inner.r#repeatString(_arg_value))
      }
      fn r#repeatUtf8(&self, _arg_value: &str) -> binder::Result<String> {
        self._rt.block_on(self._inner.r#repeatUtf8(_arg_value))
      }
      fn r#repeatByteEnum(&self, _arg_value: crate::mangled::_9_anybinder_4_test_8_ByteEnum) -> binder::Result<crate::mangled::_9_anybinder_4_test_8_ByteEnum> {
        self._rt.block_on(self._inner.r#repeatByteEnum(_arg_value))
      }
      fn r#repeatIntEnum(&self, _arg_value: crate::mangled::_9_anybinder_4_test_7_IntEnum) -> binder::Result<crate::mangled::_9_anybinder_4_test_7_IntEnum> {
        self._rt.block_on(self._inner.r#repeatIntEnum(_arg_value))
      }
      fn r#repeatLongEnum(&self, _arg_value: crate::mangled::_9_anybinder_4_test_8_LongEnum) -> binder::Result<crate::mangled::_9_anybinder_4_test_8_LongEnum> {
        self._rt.block_on(self._inner.r#repeatLongEnum(_arg_value))
      }
      fn r#reverseBoolean(&self, _arg_value: &[bool], _arg_copy: &mut Vec<bool>) -> binder::Result<Vec<bool>> {
        self._rt.block_on(self._inner.r#reverseBoolean(_arg_value, _arg_copy))
      }
      fn r#reverseByte(&self, _arg_value: &[u8], _arg_copy: &mut Vec<u8>) -> binder::Result<Vec<u8>> {
        self._rt.block_on(self._inner.r#reverseByte(_arg_value, _arg_copy))
      }
      fn r#reverseChar(&self, _arg_value: &[u16], _arg_copy: &mut Vec<u16>) -> binder::Result<Vec<u16>> {
        self._rt.block_on(self._inner.r#reverseChar(_arg_value, _arg_copy))
      }
      fn r#reverseInt(&self, _arg_value: &[i32], _arg_copy: &mut Vec<i32>) -> binder::Result<Vec<i32>> {
        self._rt.block_on(self._inner.r#reverseInt(_arg_value, _arg_copy))
      }
      fn r#reverseLong(&self, _arg_value: &[i64], _arg_copy: &mut Vec<i64>) -> binder::Result<Vec<i64>> {
        self._rt.block_on(self._inner.r#reverseLong(_arg_value, _arg_copy))
      }
      fn r#reverseFloat(&self, _arg_value: &[f32], _arg_copy: &mut Vec<f32>) -> binder::Result<Vec<f32>> {
        self._rt.block_on(self._inner.r#reverseFloat(_arg_value, _arg_copy))
      }
      fn r#reverseDouble(&self, _arg_value: &[f64], _arg_copy: &mut Vec<f64>) -> binder::Result<Vec<f64>> {
        self._rt.block_on(self._inner.r#reverseDouble(_arg_value, _arg_copy))
      }
      fn r#reverseString(&self, _arg_value: &[String], _arg_copy: &mut Vec<String>) -> binder::Result<Vec<String>> {
        self._rt.block_on(self._inner.r#reverseString(_arg_value, _arg_copy))
      }
      fn r#reverseByteEnum(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_8_ByteEnum], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_8_ByteEnum>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_8_ByteEnum>> {
        self._rt.block_on(self._inner.r#reverseByteEnum(_arg_value, _arg_copy))
      }
      fn r#reverseIntEnum(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_7_IntEnum], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>> {
        self._rt.block_on(self._inner.r#reverseIntEnum(_arg_value, _arg_copy))
      }
      fn r#reverseLongEnum(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_8_LongEnum], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_8_LongEnum>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_8_LongEnum>> {
        self._rt.block_on(self._inner.r#reverseLongEnum(_arg_value, _arg_copy))
      }
      fn r#reverseList(&self, _arg_value: &[String], _arg_copy: &mut Vec<String>) -> binder::Result<Vec<String>> {
        self._rt.block_on(self._inner.r#reverseList(_arg_value, _arg_copy))
      }
      fn r#reversePoints(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_5_Point], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_5_Point>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_5_Point>> {
        self._rt.block_on(self._inner.r#reversePoints(_arg_value, _arg_copy))
      }
      fn r#maybeString(&self, _arg_value: Option<&str>) -> binder::Result<Option<String>> {
        self._rt.block_on(self._inner.r#maybeString(_arg_value))
      }
      fn r#maybeList(&self, _arg_value: Option<&[Option<String>]>) -> binder::Result<Option<Vec<Option<String>>>> {
        self._rt.block_on(self._inner.r#maybeList(_arg_value))
      }
      fn r#maybeInts(&self, _arg_value: Option<&[i32]>) -> binder::Result<Option<Vec<i32>>> {
        self._rt.block_on(self._inner.r#maybeInts(_arg_value))
      }
      fn r#maybeBytes(&self, _arg_value: Option<&[u8]>) -> binder::Result<Option<Vec<u8>>> {
        self._rt.block_on(self._inner.r#maybeBytes(_arg_value))
      }
      fn r#maybeBooleans(&self, _arg_value: Option<&[bool]>, _arg_copy: &mut Option<Vec<bool>>) -> binder::Result<Option<Vec<bool>>> {
        self._rt.block_on(self._inner.r#maybeBooleans(_arg_value, _arg_copy))
      }
      fn r#maybeEnums(&self, _arg_value: Option<&[crate::mangled::_9_anybinder_4_test_7_IntEnum]>) -> binder::Result<Option<Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>>> {
        self._rt.block_on(self._inner.r#maybeEnums(_arg_value))
      }
      fn r#maybeStrings(&self, _arg_value: Option<&[Option<String>]>) -> binder::Result<Option<Vec<Option<String>>>> {
        self._rt.block_on(self._inner.r#maybeStrings(_arg_value))
      }
      fn r#maybePoint(&self, _arg_value: Option<&crate::mangled::_9_anybinder_4_test_5_Point>) -> binder::Result<Option<crate::mangled::_9_anybinder_4_test_5_Point>> {
        self._rt.block_on(self._inner.r#maybePoint(_arg_value))
      }
      fn r#maybePoints(&self, _arg_value: Option<&[Option<crate::mangled::_9_anybinder_4_test_5_Point>]>) -> binder::Result<Option<Vec<Option<crate::mangled::_9_anybinder_4_test_5_Point>>>> {
        self._rt.block_on(self._inner.r#maybePoints(_arg_value))
      }
      fn r#maybeShape(&self, _arg_value: Option<&crate::mangled::_9_anybinder_4_test_5_Shape>) -> binder::Result<Option<crate::mangled::_9_anybinder_4_test_5_Shape>> {
        self._rt.block_on(self._inner.r#maybeShape(_arg_value))
      }
      fn r#maybeBinder(&self, _arg_value: Option<&binder::SpIBinder>) -> binder::Result<Option<binder::SpIBinder>> {
        self._rt.block_on(self._inner.r#maybeBinder(_arg_value))
      }
      fn r#maybeCallback(&self, _arg_value: Option<&binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>) -> binder::Result<Option<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>> {
        self._rt.block_on(self._inner.r#maybeCallback(_arg_value))
      }
      fn r#maybeFile(&self, _arg_value: Option<&binder::ParcelFileDescriptor>) -> binder::Result<Option<binder::ParcelFileDescriptor>> {
        self._rt.block_on(self._inner.r#maybeFile(_arg_value))
      }
      fn r#maybeNode(&self, _arg_value: Option<&crate::mangled::_9_anybinder_4_test_4_Node>) -> binder::Result<Option<crate::mangled::_9_anybinder_4_test_4_Node>> {
        self._rt.block_on(self._inner.r#maybeNode(_arg_value))
      }
      fn r#repeatFixed(&self, _arg_value: &[i32; 3], _arg_copy: &mut [i32; 3]) -> binder::Result<[i32; 3]> {
        self._rt.block_on(self._inner.r#repeatFixed(_arg_value, _arg_copy))
      }
      fn r#repeatMatrix(&self, _arg_value: &[[i32; 3]; 2], _arg_copy: &mut [[i32; 3]; 2]) -> binder::Result<[[i32; 3]; 2]> {
        self._rt.block_on(self._inner.r#repeatMatrix(_arg_value, _arg_copy))
      }
      fn r#repeatFixedPoints(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_5_Point; 2], _arg_copy: &mut [crate::mangled::_9_anybinder_4_test_5_Point; 2]) -> binder::Result<[crate::mangled::_9_anybinder_4_test_5_Point; 2]> {
        self._rt.block_on(self._inner.r#repeatFixedPoints(_arg_value, _arg_copy))
      }
      fn r#repeatFixedBinders(&self, _arg_value: Option<&[Option<binder::SpIBinder>; 2]>) -> binder::Result<Option<[Option<binder::SpIBinder>; 2]>> {
        self._rt.block_on(self._inner.r#repeatFixedBinders(_arg_value))
      }
      fn r#repeatEverything(&self, _arg_value: &crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::Result<crate::mangled::_9_anybinder_4_test_10_Everything> {
        self._rt.block_on(self._inner.r#repeatEverything(_arg_value))
      }
      fn r#fillEverything(&self, _arg_value: &mut crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::Result<()> {
        self._rt.block_on(self._inner.r#fillEverything(_arg_value))
      }
      fn r#changeEverything(&self, _arg_value: &mut crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::Result<()> {
        self._rt.block_on(self._inner.r#changeEverything(_arg_value))
      }
      fn r#repeatShape(&self, _arg_value: &crate::mangled::_9_anybinder_4_test_5_Shape) -> binder::Result<crate::mangled::_9_anybinder_4_test_5_Shape> {
        self._rt.block_on(self._inner.r#repeatShape(_arg_value))
      }
      fn r#repeatTree(&self, _arg_value: &crate::mangled::_9_anybinder_4_test_4_Tree) -> binder::Result<crate::mangled::_9_anybinder_4_test_4_Tree> {
        self._rt.block_on(self._inner.r#repeatTree(_arg_value))
      }
      fn r#repeatBinder(&self, _arg_value: &binder::SpIBinder) -> binder::Result<binder::SpIBinder> {
        self._rt.block_on(self._inner.r#repeatBinder(_arg_value))
      }
      fn r#repeatBinders(&self, _arg_value: &[binder::SpIBinder]) -> binder::Result<Vec<binder::SpIBinder>> {
        self._rt.block_on(self._inner.r#repeatBinders(_arg_value))
      }
      fn r#repeatFile(&self, _arg_value: &binder::ParcelFileDescriptor) -> binder::Result<binder::ParcelFileDescriptor> {
        self._rt.block_on(self._inner.r#repeatFile(_arg_value))
      }
      fn r#reverseFiles(&self, _arg_value: &[binder::ParcelFileDescriptor], _arg_copy: &mut Vec<Option<binder::ParcelFileDescriptor>>) -> binder::Result<Vec<binder::ParcelFileDescriptor>> {
        self._rt.block_on(self._inner.r#reverseFiles(_arg_value, _arg_copy))
      }
      fn r#repeatCallback(&self, _arg_value: &binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>) -> binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>> {
        self._rt.block_on(self._inner.r#repeatCallback(_arg_value))
      }
      fn r#repeatCallbacks(&self, _arg_value: &[binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>]) -> binder::Result<Vec<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>> {
        self._rt.block_on(self._inner.r#repeatCallbacks(_arg_value))
      }
      fn r#askThrough(&self, _arg_callback: &binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>, _arg_question: i32) -> binder::Result<i32> {
        self._rt.block_on(self._inner.r#askThrough(_arg_callback, _arg_question))
      }
      fn r#noticeThrough(&self, _arg_callback: &binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>, _arg_number: i32) -> binder::Result<()> {
        self._rt.block_on(self._inner.r#noticeThrough(_arg_callback, _arg_number))
      }
      fn r#makeCallback(&self, _arg_offset: i32) -> binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>> {
        self._rt.block_on(self._inner.r#makeCallback(_arg_offset))
      }
      fn r#secret(&self) -> binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_5_ITest_7_ISecret>> {
        self._rt.block_on(self._inner.r#secret())
      }
      fn r#fail(&self, _arg_exception: i32, _arg_message: &str) -> binder::Result<()> {
        self._rt.block_on(self._inner.r#fail(_arg_exception, _arg_message))
      }
      fn r#failSpecific(&self, _arg_error: i32, _arg_message: &str) -> binder::Result<()> {
        self._rt.block_on(self._inner.r#failSpecific(_arg_error, _arg_message))
      }
      fn r#failStatus(&self, _arg_status: i32) -> binder::Result<()> {
        self._rt.block_on(self._inner.r#failStatus(_arg_status))
      }
      fn r#callingIdentity(&self, _arg_pidAndUid: &mut Vec<i32>) -> binder::Result<()> {
        self._rt.block_on(self._inner.r#callingIdentity(_arg_pidAndUid))
      }
      fn r#add(&self, _arg_number: i32) -> binder::Result<()> {
        self._rt.block_on(self._inner.r#add(_arg_number))
      }
      fn r#added(&self) -> binder::Result<Vec<i32>> {
        self._rt.block_on(self._inner.r#added())
      }
    }
    let wrapped = Wrapper { _inner: inner, _rt: rt };
    Self::new_binder(wrapped, features)
  }
}
pub trait ITestDefault: Send + Sync {
  fn r#repeatBoolean(&self, _arg_value: bool) -> binder::Result<bool> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#repeatByte(&self, _arg_value: i8) -> binder::Result<i8> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#repeatChar(&self, _arg_value: u16) -> binder::Result<u16> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#repeatInt(&self, _arg_value: i32) -> binder::Result<i32> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#repeatLong(&self, _arg_value: i64) -> binder::Result<i64> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#repeatFloat(&self, _arg_value: f32) -> binder::Result<f32> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#repeatDouble(&self, _arg_value: f64) -> binder::Result<f64> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#repeatString(&self, _arg_value: &str) -> binder::Result<String> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#repeatUtf8(&self, _arg_value: &str) -> binder::Result<String> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#repeatByteEnum(&self, _arg_value: crate::mangled::_9_anybinder_4_test_8_ByteEnum) -> binder::Result<crate::mangled::_9_anybinder_4_test_8_ByteEnum> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#repeatIntEnum(&self, _arg_value: crate::mangled::_9_anybinder_4_test_7_IntEnum) -> binder::Result<crate::mangled::_9_anybinder_4_test_7_IntEnum> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#repeatLongEnum(&self, _arg_value: crate::mangled::_9_anybinder_4_test_8_LongEnum) -> binder::Result<crate::mangled::_9_anybinder_4_test_8_LongEnum> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#reverseBoolean(&self, _arg_value: &[bool], _arg_copy: &mut Vec<bool>) -> binder::Result<Vec<bool>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#reverseByte(&self, _arg_value: &[u8], _arg_copy: &mut Vec<u8>) -> binder::Result<Vec<u8>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#reverseChar(&self, _arg_value: &[u16], _arg_copy: &mut Vec<u16>) -> binder::Result<Vec<u16>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#reverseInt(&self, _arg_value: &[i32], _arg_copy: &mut Vec<i32>) -> binder::Result<Vec<i32>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#reverseLong(&self, _arg_value: &[i64], _arg_copy: &mut Vec<i64>) -> binder::Result<Vec<i64>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#reverseFloat(&self, _arg_value: &[f32], _arg_copy: &mut Vec<f32>) -> binder::Result<Vec<f32>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#reverseDouble(&self, _arg_value: &[f64], _arg_copy: &mut Vec<f64>) -> binder::Result<Vec<f64>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#reverseString(&self, _arg_value: &[String], _arg_copy: &mut Vec<String>) -> binder::Result<Vec<String>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#reverseByteEnum(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_8_ByteEnum], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_8_ByteEnum>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_8_ByteEnum>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#reverseIntEnum(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_7_IntEnum], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#reverseLongEnum(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_8_LongEnum], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_8_LongEnum>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_8_LongEnum>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#reverseList(&self, _arg_value: &[String], _arg_copy: &mut Vec<String>) -> binder::Result<Vec<String>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#reversePoints(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_5_Point], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_5_Point>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_5_Point>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#maybeString(&self, _arg_value: Option<&str>) -> binder::Result<Option<String>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#maybeList(&self, _arg_value: Option<&[Option<String>]>) -> binder::Result<Option<Vec<Option<String>>>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#maybeInts(&self, _arg_value: Option<&[i32]>) -> binder::Result<Option<Vec<i32>>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#maybeBytes(&self, _arg_value: Option<&[u8]>) -> binder::Result<Option<Vec<u8>>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#maybeBooleans(&self, _arg_value: Option<&[bool]>, _arg_copy: &mut Option<Vec<bool>>) -> binder::Result<Option<Vec<bool>>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#maybeEnums(&self, _arg_value: Option<&[crate::mangled::_9_anybinder_4_test_7_IntEnum]>) -> binder::Result<Option<Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#maybeStrings(&self, _arg_value: Option<&[Option<String>]>) -> binder::Result<Option<Vec<Option<String>>>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#maybePoint(&self, _arg_value: Option<&crate::mangled::_9_anybinder_4_test_5_Point>) -> binder::Result<Option<crate::mangled::_9_anybinder_4_test_5_Point>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#maybePoints(&self, _arg_value: Option<&[Option<crate::mangled::_9_anybinder_4_test_5_Point>]>) -> binder::Result<Option<Vec<Option<crate::mangled::_9_anybinder_4_test_5_Point>>>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#maybeShape(&self, _arg_value: Option<&crate::mangled::_9_anybinder_4_test_5_Shape>) -> binder::Result<Option<crate::mangled::_9_anybinder_4_test_5_Shape>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#maybeBinder(&self, _arg_value: Option<&binder::SpIBinder>) -> binder::Result<Option<binder::SpIBinder>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#maybeCallback(&self, _arg_value: Option<&binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>) -> binder::Result<Option<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#maybeFile(&self, _arg_value: Option<&binder::ParcelFileDescriptor>) -> binder::Result<Option<binder::ParcelFileDescriptor>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#maybeNode(&self, _arg_value: Option<&crate::mangled::_9_anybinder_4_test_4_Node>) -> binder::Result<Option<crate::mangled::_9_anybinder_4_test_4_Node>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#repeatFixed(&self, _arg_value: &[i32; 3], _arg_copy: &mut [i32; 3]) -> binder::Result<[i32; 3]> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#repeatMatrix(&self, _arg_value: &[[i32; 3]; 2], _arg_copy: &mut [[i32; 3]; 2]) -> binder::Result<[[i32; 3]; 2]> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#repeatFixedPoints(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_5_Point; 2], _arg_copy: &mut [crate::mangled::_9_anybinder_4_test_5_Point; 2]) -> binder::Result<[crate::mangled::_9_anybinder_4_test_5_Point; 2]> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#repeatFixedBinders(&self, _arg_value: Option<&[Option<binder::SpIBinder>; 2]>) -> binder::Result<Option<[Option<binder::SpIBinder>; 2]>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#repeatEverything(&self, _arg_value: &crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::Result<crate::mangled::_9_anybinder_4_test_10_Everything> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#fillEverything(&self, _arg_value: &mut crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::Result<()> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#changeEverything(&self, _arg_value: &mut crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::Result<()> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#repeatShape(&self, _arg_value: &crate::mangled::_9_anybinder_4_test_5_Shape) -> binder::Result<crate::mangled::_9_anybinder_4_test_5_Shape> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#repeatTree(&self, _arg_value: &crate::mangled::_9_anybinder_4_test_4_Tree) -> binder::Result<crate::mangled::_9_anybinder_4_test_4_Tree> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#repeatBinder(&self, _arg_value: &binder::SpIBinder) -> binder::Result<binder::SpIBinder> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#repeatBinders(&self, _arg_value: &[binder::SpIBinder]) -> binder::Result<Vec<binder::SpIBinder>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#repeatFile(&self, _arg_value: &binder::ParcelFileDescriptor) -> binder::Result<binder::ParcelFileDescriptor> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#reverseFiles(&self, _arg_value: &[binder::ParcelFileDescriptor], _arg_copy: &mut Vec<Option<binder::ParcelFileDescriptor>>) -> binder::Result<Vec<binder::ParcelFileDescriptor>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#repeatCallback(&self, _arg_value: &binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>) -> binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#repeatCallbacks(&self, _arg_value: &[binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>]) -> binder::Result<Vec<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#askThrough(&self, _arg_callback: &binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>, _arg_question: i32) -> binder::Result<i32> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#noticeThrough(&self, _arg_callback: &binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>, _arg_number: i32) -> binder::Result<()> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#makeCallback(&self, _arg_offset: i32) -> binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#secret(&self) -> binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_5_ITest_7_ISecret>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#fail(&self, _arg_exception: i32, _arg_message: &str) -> binder::Result<()> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#failSpecific(&self, _arg_error: i32, _arg_message: &str) -> binder::Result<()> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#failStatus(&self, _arg_status: i32) -> binder::Result<()> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#callingIdentity(&self, _arg_pidAndUid: &mut Vec<i32>) -> binder::Result<()> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#add(&self, _arg_number: i32) -> binder::Result<()> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
  fn r#added(&self) -> binder::Result<Vec<i32>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
}
pub mod transactions {
  pub const r#repeatBoolean: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 0;
  pub const r#repeatByte: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 1;
  pub const r#repeatChar: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 2;
  pub const r#repeatInt: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 3;
  pub const r#repeatLong: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 4;
  pub const r#repeatFloat: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 5;
  pub const r#repeatDouble: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 6;
  pub const r#repeatString: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 7;
  pub const r#repeatUtf8: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 8;
  pub const r#repeatByteEnum: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 9;
  pub const r#repeatIntEnum: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 10;
  pub const r#repeatLongEnum: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 11;
  pub const r#reverseBoolean: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 12;
  pub const r#reverseByte: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 13;
  pub const r#reverseChar: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 14;
  pub const r#reverseInt: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 15;
  pub const r#reverseLong: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 16;
  pub const r#reverseFloat: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 17;
  pub const r#reverseDouble: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 18;
  pub const r#reverseString: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 19;
  pub const r#reverseByteEnum: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 20;
  pub const r#reverseIntEnum: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 21;
  pub const r#reverseLongEnum: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 22;
  pub const r#reverseList: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 23;
  pub const r#reversePoints: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 24;
  pub const r#maybeString: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 25;
  pub const r#maybeList: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 26;
  pub const r#maybeInts: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 27;
  pub const r#maybeBytes: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 28;
  pub const r#maybeBooleans: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 29;
  pub const r#maybeEnums: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 30;
  pub const r#maybeStrings: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 31;
  pub const r#maybePoint: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 32;
  pub const r#maybePoints: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 33;
  pub const r#maybeShape: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 34;
  pub const r#maybeBinder: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 35;
  pub const r#maybeCallback: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 36;
  pub const r#maybeFile: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 37;
  pub const r#maybeNode: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 38;
  pub const r#repeatFixed: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 39;
  pub const r#repeatMatrix: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 40;
  pub const r#repeatFixedPoints: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 41;
  pub const r#repeatFixedBinders: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 42;
  pub const r#repeatEverything: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 43;
  pub const r#fillEverything: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 44;
  pub const r#changeEverything: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 45;
  pub const r#repeatShape: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 46;
  pub const r#repeatTree: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 47;
  pub const r#repeatBinder: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 48;
  pub const r#repeatBinders: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 49;
  pub const r#repeatFile: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 50;
  pub const r#reverseFiles: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 51;
  pub const r#repeatCallback: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 52;
  pub const r#repeatCallbacks: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 53;
  pub const r#askThrough: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 54;
  pub const r#noticeThrough: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 55;
  pub const r#makeCallback: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 56;
  pub const r#secret: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 57;
  pub const r#fail: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 58;
  pub const r#failSpecific: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 59;
  pub const r#failStatus: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 60;
  pub const r#callingIdentity: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 61;
  pub const r#add: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 62;
  pub const r#added: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 63;
}
pub type ITestDefaultRef = Option<std::sync::Arc<dyn ITestDefault>>;
static DEFAULT_IMPL: std::sync::Mutex<ITestDefaultRef> = std::sync::Mutex::new(None);
pub const r#ANSWER: i32 = 42;
pub const r#NAME: &str = "anybinder.test.ITest/default";
pub const r#UTF8_NAME: &str = "utf8";
pub const r#HALF: f64 = 0.500000f64;
impl BpTest {
  fn build_parcel_repeatBoolean(&self, _arg_value: bool) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_repeatBoolean(&self, _arg_value: bool, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<bool> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#repeatBoolean(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: bool = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_repeatByte(&self, _arg_value: i8) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_repeatByte(&self, _arg_value: i8, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<i8> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#repeatByte(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: i8 = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_repeatChar(&self, _arg_value: u16) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_repeatChar(&self, _arg_value: u16, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<u16> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#repeatChar(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: u16 = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_repeatInt(&self, _arg_value: i32) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_repeatInt(&self, _arg_value: i32, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<i32> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#repeatInt(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: i32 = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_repeatLong(&self, _arg_value: i64) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_repeatLong(&self, _arg_value: i64, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<i64> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#repeatLong(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: i64 = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_repeatFloat(&self, _arg_value: f32) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_repeatFloat(&self, _arg_value: f32, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<f32> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#repeatFloat(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: f32 = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_repeatDouble(&self, _arg_value: f64) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_repeatDouble(&self, _arg_value: f64, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<f64> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#repeatDouble(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: f64 = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_repeatString(&self, _arg_value: &str) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_repeatString(&self, _arg_value: &str, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<String> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#repeatString(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: String = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_repeatUtf8(&self, _arg_value: &str) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_repeatUtf8(&self, _arg_value: &str, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<String> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#repeatUtf8(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: String = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_repeatByteEnum(&self, _arg_value: crate::mangled::_9_anybinder_4_test_8_ByteEnum) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_repeatByteEnum(&self, _arg_value: crate::mangled::_9_anybinder_4_test_8_ByteEnum, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<crate::mangled::_9_anybinder_4_test_8_ByteEnum> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#repeatByteEnum(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: crate::mangled::_9_anybinder_4_test_8_ByteEnum = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_repeatIntEnum(&self, _arg_value: crate::mangled::_9_anybinder_4_test_7_IntEnum) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_repeatIntEnum(&self, _arg_value: crate::mangled::_9_anybinder_4_test_7_IntEnum, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<crate::mangled::_9_anybinder_4_test_7_IntEnum> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#repeatIntEnum(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: crate::mangled::_9_anybinder_4_test_7_IntEnum = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_repeatLongEnum(&self, _arg_value: crate::mangled::_9_anybinder_4_test_8_LongEnum) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_repeatLongEnum(&self, _arg_value: crate::mangled::_9_anybinder_4_test_8_LongEnum, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<crate::mangled::_9_anybinder_4_test_8_LongEnum> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#repeatLongEnum(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: crate::mangled::_9_anybinder_4_test_8_LongEnum = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_reverseBoolean(&self, _arg_value: &[bool], _arg_copy: &mut Vec<bool>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    aidl_data.write_slice_size(Some(_arg_copy))?;
    Ok(aidl_data)
  }
  fn read_response_reverseBoolean(&self, _arg_value: &[bool], _arg_copy: &mut Vec<bool>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Vec<bool>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#reverseBoolean(_arg_value, _arg_copy);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Vec<bool> = _aidl_reply.read()?;
    _aidl_reply.read_onto(_arg_copy)?;
    Ok(_aidl_return)
  }
  fn build_parcel_reverseByte(&self, _arg_value: &[u8], _arg_copy: &mut Vec<u8>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    aidl_data.write_slice_size(Some(_arg_copy))?;
    Ok(aidl_data)
  }
  fn read_response_reverseByte(&self, _arg_value: &[u8], _arg_copy: &mut Vec<u8>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Vec<u8>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#reverseByte(_arg_value, _arg_copy);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Vec<u8> = _aidl_reply.read()?;
    _aidl_reply.read_onto(_arg_copy)?;
    Ok(_aidl_return)
  }
  fn build_parcel_reverseChar(&self, _arg_value: &[u16], _arg_copy: &mut Vec<u16>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    aidl_data.write_slice_size(Some(_arg_copy))?;
    Ok(aidl_data)
  }
  fn read_response_reverseChar(&self, _arg_value: &[u16], _arg_copy: &mut Vec<u16>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Vec<u16>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#reverseChar(_arg_value, _arg_copy);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Vec<u16> = _aidl_reply.read()?;
    _aidl_reply.read_onto(_arg_copy)?;
    Ok(_aidl_return)
  }
  fn build_parcel_reverseInt(&self, _arg_value: &[i32], _arg_copy: &mut Vec<i32>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    aidl_data.write_slice_size(Some(_arg_copy))?;
    Ok(aidl_data)
  }
  fn read_response_reverseInt(&self, _arg_value: &[i32], _arg_copy: &mut Vec<i32>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Vec<i32>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#reverseInt(_arg_value, _arg_copy);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Vec<i32> = _aidl_reply.read()?;
    _aidl_reply.read_onto(_arg_copy)?;
    Ok(_aidl_return)
  }
  fn build_parcel_reverseLong(&self, _arg_value: &[i64], _arg_copy: &mut Vec<i64>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    aidl_data.write_slice_size(Some(_arg_copy))?;
    Ok(aidl_data)
  }
  fn read_response_reverseLong(&self, _arg_value: &[i64], _arg_copy: &mut Vec<i64>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Vec<i64>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#reverseLong(_arg_value, _arg_copy);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Vec<i64> = _aidl_reply.read()?;
    _aidl_reply.read_onto(_arg_copy)?;
    Ok(_aidl_return)
  }
  fn build_parcel_reverseFloat(&self, _arg_value: &[f32], _arg_copy: &mut Vec<f32>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    aidl_data.write_slice_size(Some(_arg_copy))?;
    Ok(aidl_data)
  }
  fn read_response_reverseFloat(&self, _arg_value: &[f32], _arg_copy: &mut Vec<f32>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Vec<f32>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#reverseFloat(_arg_value, _arg_copy);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Vec<f32> = _aidl_reply.read()?;
    _aidl_reply.read_onto(_arg_copy)?;
    Ok(_aidl_return)
  }
  fn build_parcel_reverseDouble(&self, _arg_value: &[f64], _arg_copy: &mut Vec<f64>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    aidl_data.write_slice_size(Some(_arg_copy))?;
    Ok(aidl_data)
  }
  fn read_response_reverseDouble(&self, _arg_value: &[f64], _arg_copy: &mut Vec<f64>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Vec<f64>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#reverseDouble(_arg_value, _arg_copy);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Vec<f64> = _aidl_reply.read()?;
    _aidl_reply.read_onto(_arg_copy)?;
    Ok(_aidl_return)
  }
  fn build_parcel_reverseString(&self, _arg_value: &[String], _arg_copy: &mut Vec<String>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    aidl_data.write_slice_size(Some(_arg_copy))?;
    Ok(aidl_data)
  }
  fn read_response_reverseString(&self, _arg_value: &[String], _arg_copy: &mut Vec<String>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Vec<String>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#reverseString(_arg_value, _arg_copy);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Vec<String> = _aidl_reply.read()?;
    _aidl_reply.read_onto(_arg_copy)?;
    Ok(_aidl_return)
  }
  fn build_parcel_reverseByteEnum(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_8_ByteEnum], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_8_ByteEnum>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    aidl_data.write_slice_size(Some(_arg_copy))?;
    Ok(aidl_data)
  }
  fn read_response_reverseByteEnum(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_8_ByteEnum], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_8_ByteEnum>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_8_ByteEnum>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#reverseByteEnum(_arg_value, _arg_copy);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Vec<crate::mangled::_9_anybinder_4_test_8_ByteEnum> = _aidl_reply.read()?;
    _aidl_reply.read_onto(_arg_copy)?;
    Ok(_aidl_return)
  }
  fn build_parcel_reverseIntEnum(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_7_IntEnum], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    aidl_data.write_slice_size(Some(_arg_copy))?;
    Ok(aidl_data)
  }
  fn read_response_reverseIntEnum(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_7_IntEnum], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#reverseIntEnum(_arg_value, _arg_copy);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum> = _aidl_reply.read()?;
    _aidl_reply.read_onto(_arg_copy)?;
    Ok(_aidl_return)
  }
  fn build_parcel_reverseLongEnum(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_8_LongEnum], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_8_LongEnum>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    aidl_data.write_slice_size(Some(_arg_copy))?;
    Ok(aidl_data)
  }
  fn read_response_reverseLongEnum(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_8_LongEnum], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_8_LongEnum>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_8_LongEnum>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#reverseLongEnum(_arg_value, _arg_copy);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Vec<crate::mangled::_9_anybinder_4_test_8_LongEnum> = _aidl_reply.read()?;
    _aidl_reply.read_onto(_arg_copy)?;
    Ok(_aidl_return)
  }
  fn build_parcel_reverseList(&self, _arg_value: &[String], _arg_copy: &mut Vec<String>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_reverseList(&self, _arg_value: &[String], _arg_copy: &mut Vec<String>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Vec<String>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#reverseList(_arg_value, _arg_copy);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Vec<String> = _aidl_reply.read()?;
    _aidl_reply.read_onto(_arg_copy)?;
    Ok(_aidl_return)
  }
  fn build_parcel_reversePoints(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_5_Point], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_5_Point>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    aidl_data.write(_arg_copy)?;
    Ok(aidl_data)
  }
  fn read_response_reversePoints(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_5_Point], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_5_Point>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_5_Point>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#reversePoints(_arg_value, _arg_copy);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Vec<crate::mangled::_9_anybinder_4_test_5_Point> = _aidl_reply.read()?;
    _aidl_reply.read_onto(_arg_copy)?;
    Ok(_aidl_return)
  }
  fn build_parcel_maybeString(&self, _arg_value: Option<&str>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_maybeString(&self, _arg_value: Option<&str>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Option<String>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#maybeString(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Option<String> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_maybeList(&self, _arg_value: Option<&[Option<String>]>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_maybeList(&self, _arg_value: Option<&[Option<String>]>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Option<Vec<Option<String>>>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#maybeList(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Option<Vec<Option<String>>> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_maybeInts(&self, _arg_value: Option<&[i32]>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_maybeInts(&self, _arg_value: Option<&[i32]>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Option<Vec<i32>>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#maybeInts(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Option<Vec<i32>> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_maybeBytes(&self, _arg_value: Option<&[u8]>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_maybeBytes(&self, _arg_value: Option<&[u8]>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Option<Vec<u8>>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#maybeBytes(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Option<Vec<u8>> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_maybeBooleans(&self, _arg_value: Option<&[bool]>, _arg_copy: &mut Option<Vec<bool>>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_value)?;
    aidl_data.write_slice_size(_arg_copy.as_deref())?;
    Ok(aidl_data)
  }
  fn read_response_maybeBooleans(&self, _arg_value: Option<&[bool]>, _arg_copy: &mut Option<Vec<bool>>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Option<Vec<bool>>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#maybeBooleans(_arg_value, _arg_copy);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Option<Vec<bool>> = _aidl_reply.read()?;
    _aidl_reply.read_onto(_arg_copy)?;
    Ok(_aidl_return)
  }
  fn build_parcel_maybeEnums(&self, _arg_value: Option<&[crate::mangled::_9_anybinder_4_test_7_IntEnum]>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_maybeEnums(&self, _arg_value: Option<&[crate::mangled::_9_anybinder_4_test_7_IntEnum]>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Option<Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#maybeEnums(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Option<Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_maybeStrings(&self, _arg_value: Option<&[Option<String>]>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_maybeStrings(&self, _arg_value: Option<&[Option<String>]>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Option<Vec<Option<String>>>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#maybeStrings(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Option<Vec<Option<String>>> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_maybePoint(&self, _arg_value: Option<&crate::mangled::_9_anybinder_4_test_5_Point>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_maybePoint(&self, _arg_value: Option<&crate::mangled::_9_anybinder_4_test_5_Point>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Option<crate::mangled::_9_anybinder_4_test_5_Point>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#maybePoint(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Option<crate::mangled::_9_anybinder_4_test_5_Point> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_maybePoints(&self, _arg_value: Option<&[Option<crate::mangled::_9_anybinder_4_test_5_Point>]>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_maybePoints(&self, _arg_value: Option<&[Option<crate::mangled::_9_anybinder_4_test_5_Point>]>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Option<Vec<Option<crate::mangled::_9_anybinder_4_test_5_Point>>>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#maybePoints(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Option<Vec<Option<crate::mangled::_9_anybinder_4_test_5_Point>>> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_maybeShape(&self, _arg_value: Option<&crate::mangled::_9_anybinder_4_test_5_Shape>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_maybeShape(&self, _arg_value: Option<&crate::mangled::_9_anybinder_4_test_5_Shape>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Option<crate::mangled::_9_anybinder_4_test_5_Shape>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#maybeShape(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Option<crate::mangled::_9_anybinder_4_test_5_Shape> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_maybeBinder(&self, _arg_value: Option<&binder::SpIBinder>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_maybeBinder(&self, _arg_value: Option<&binder::SpIBinder>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Option<binder::SpIBinder>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#maybeBinder(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Option<binder::SpIBinder> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_maybeCallback(&self, _arg_value: Option<&binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_maybeCallback(&self, _arg_value: Option<&binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Option<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#maybeCallback(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Option<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_maybeFile(&self, _arg_value: Option<&binder::ParcelFileDescriptor>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_maybeFile(&self, _arg_value: Option<&binder::ParcelFileDescriptor>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Option<binder::ParcelFileDescriptor>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#maybeFile(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Option<binder::ParcelFileDescriptor> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_maybeNode(&self, _arg_value: Option<&crate::mangled::_9_anybinder_4_test_4_Node>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_maybeNode(&self, _arg_value: Option<&crate::mangled::_9_anybinder_4_test_4_Node>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Option<crate::mangled::_9_anybinder_4_test_4_Node>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#maybeNode(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Option<crate::mangled::_9_anybinder_4_test_4_Node> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_repeatFixed(&self, _arg_value: &[i32; 3], _arg_copy: &mut [i32; 3]) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_repeatFixed(&self, _arg_value: &[i32; 3], _arg_copy: &mut [i32; 3], _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<[i32; 3]> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#repeatFixed(_arg_value, _arg_copy);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: [i32; 3] = _aidl_reply.read()?;
    _aidl_reply.read_onto(_arg_copy)?;
    Ok(_aidl_return)
  }
  fn build_parcel_repeatMatrix(&self, _arg_value: &[[i32; 3]; 2], _arg_copy: &mut [[i32; 3]; 2]) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_repeatMatrix(&self, _arg_value: &[[i32; 3]; 2], _arg_copy: &mut [[i32; 3]; 2], _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<[[i32; 3]; 2]> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#repeatMatrix(_arg_value, _arg_copy);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: [[i32; 3]; 2] = _aidl_reply.read()?;
    _aidl_reply.read_onto(_arg_copy)?;
    Ok(_aidl_return)
  }
  fn build_parcel_repeatFixedPoints(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_5_Point; 2], _arg_copy: &mut [crate::mangled::_9_anybinder_4_test_5_Point; 2]) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    aidl_data.write(_arg_copy)?;
    Ok(aidl_data)
  }
  fn read_response_repeatFixedPoints(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_5_Point; 2], _arg_copy: &mut [crate::mangled::_9_anybinder_4_test_5_Point; 2], _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<[crate::mangled::_9_anybinder_4_test_5_Point; 2]> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#repeatFixedPoints(_arg_value, _arg_copy);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: [crate::mangled::_9_anybinder_4_test_5_Point; 2] = _aidl_reply.read()?;
    _aidl_reply.read_onto(_arg_copy)?;
    Ok(_aidl_return)
  }
  fn build_parcel_repeatFixedBinders(&self, _arg_value: Option<&[Option<binder::SpIBinder>; 2]>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_repeatFixedBinders(&self, _arg_value: Option<&[Option<binder::SpIBinder>; 2]>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Option<[Option<binder::SpIBinder>; 2]>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#repeatFixedBinders(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Option<[Option<binder::SpIBinder>; 2]> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_repeatEverything(&self, _arg_value: &crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_repeatEverything(&self, _arg_value: &crate::mangled::_9_anybinder_4_test_10_Everything, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<crate::mangled::_9_anybinder_4_test_10_Everything> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#repeatEverything(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: crate::mangled::_9_anybinder_4_test_10_Everything = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_fillEverything(&self, _arg_value: &mut crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    Ok(aidl_data)
  }
  fn read_response_fillEverything(&self, _arg_value: &mut crate::mangled::_9_anybinder_4_test_10_Everything, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<()> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#fillEverything(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    _aidl_reply.read_onto(_arg_value)?;
    Ok(())
  }
  fn build_parcel_changeEverything(&self, _arg_value: &mut crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_changeEverything(&self, _arg_value: &mut crate::mangled::_9_anybinder_4_test_10_Everything, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<()> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#changeEverything(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    _aidl_reply.read_onto(_arg_value)?;
    Ok(())
  }
  fn build_parcel_repeatShape(&self, _arg_value: &crate::mangled::_9_anybinder_4_test_5_Shape) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_repeatShape(&self, _arg_value: &crate::mangled::_9_anybinder_4_test_5_Shape, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<crate::mangled::_9_anybinder_4_test_5_Shape> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#repeatShape(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: crate::mangled::_9_anybinder_4_test_5_Shape = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_repeatTree(&self, _arg_value: &crate::mangled::_9_anybinder_4_test_4_Tree) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_repeatTree(&self, _arg_value: &crate::mangled::_9_anybinder_4_test_4_Tree, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<crate::mangled::_9_anybinder_4_test_4_Tree> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#repeatTree(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: crate::mangled::_9_anybinder_4_test_4_Tree = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_repeatBinder(&self, _arg_value: &binder::SpIBinder) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_repeatBinder(&self, _arg_value: &binder::SpIBinder, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<binder::SpIBinder> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#repeatBinder(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: binder::SpIBinder = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_repeatBinders(&self, _arg_value: &[binder::SpIBinder]) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_repeatBinders(&self, _arg_value: &[binder::SpIBinder], _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Vec<binder::SpIBinder>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#repeatBinders(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Vec<binder::SpIBinder> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_repeatFile(&self, _arg_value: &binder::ParcelFileDescriptor) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_repeatFile(&self, _arg_value: &binder::ParcelFileDescriptor, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<binder::ParcelFileDescriptor> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#repeatFile(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: binder::ParcelFileDescriptor = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_reverseFiles(&self, _arg_value: &[binder::ParcelFileDescriptor], _arg_copy: &mut Vec<Option<binder::ParcelFileDescriptor>>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    aidl_data.write_slice_size(Some(_arg_copy))?;
    Ok(aidl_data)
  }
  fn read_response_reverseFiles(&self, _arg_value: &[binder::ParcelFileDescriptor], _arg_copy: &mut Vec<Option<binder::ParcelFileDescriptor>>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Vec<binder::ParcelFileDescriptor>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#reverseFiles(_arg_value, _arg_copy);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Vec<binder::ParcelFileDescriptor> = _aidl_reply.read()?;
    _aidl_reply.read_onto(_arg_copy)?;
    Ok(_aidl_return)
  }
  fn build_parcel_repeatCallback(&self, _arg_value: &binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_repeatCallback(&self, _arg_value: &binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#repeatCallback(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_repeatCallbacks(&self, _arg_value: &[binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>]) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_repeatCallbacks(&self, _arg_value: &[binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>], _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Vec<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#repeatCallbacks(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Vec<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_askThrough(&self, _arg_callback: &binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>, _arg_question: i32) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_callback)?;
    aidl_data.write(&_arg_question)?;
    Ok(aidl_data)
  }
  fn read_response_askThrough(&self, _arg_callback: &binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>, _arg_question: i32, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<i32> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#askThrough(_arg_callback, _arg_question);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: i32 = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_noticeThrough(&self, _arg_callback: &binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>, _arg_number: i32) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_callback)?;
    aidl_data.write(&_arg_number)?;
    Ok(aidl_data)
  }
  fn read_response_noticeThrough(&self, _arg_callback: &binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>, _arg_number: i32, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<()> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#noticeThrough(_arg_callback, _arg_number);
      }
    }
    let _aidl_reply = _aidl_reply?;
    Ok(())
  }
  fn build_parcel_makeCallback(&self, _arg_offset: i32) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_offset)?;
    Ok(aidl_data)
  }
  fn read_response_makeCallback(&self, _arg_offset: i32, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#makeCallback(_arg_offset);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_secret(&self) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    Ok(aidl_data)
  }
  fn read_response_secret(&self, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_5_ITest_7_ISecret>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#secret();
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: binder::Strong<dyn crate::mangled::_9_anybinder_4_test_5_ITest_7_ISecret> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
  fn build_parcel_fail(&self, _arg_exception: i32, _arg_message: &str) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_exception)?;
    aidl_data.write(_arg_message)?;
    Ok(aidl_data)
  }
  fn read_response_fail(&self, _arg_exception: i32, _arg_message: &str, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<()> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#fail(_arg_exception, _arg_message);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    Ok(())
  }
  fn build_parcel_failSpecific(&self, _arg_error: i32, _arg_message: &str) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_error)?;
    aidl_data.write(_arg_message)?;
    Ok(aidl_data)
  }
  fn read_response_failSpecific(&self, _arg_error: i32, _arg_message: &str, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<()> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#failSpecific(_arg_error, _arg_message);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    Ok(())
  }
  fn build_parcel_failStatus(&self, _arg_status: i32) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_status)?;
    Ok(aidl_data)
  }
  fn read_response_failStatus(&self, _arg_status: i32, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<()> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#failStatus(_arg_status);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    Ok(())
  }
  fn build_parcel_callingIdentity(&self, _arg_pidAndUid: &mut Vec<i32>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write_slice_size(Some(_arg_pidAndUid))?;
    Ok(aidl_data)
  }
  fn read_response_callingIdentity(&self, _arg_pidAndUid: &mut Vec<i32>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<()> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#callingIdentity(_arg_pidAndUid);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    _aidl_reply.read_onto(_arg_pidAndUid)?;
    Ok(())
  }
  fn build_parcel_add(&self, _arg_number: i32) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(&_arg_number)?;
    Ok(aidl_data)
  }
  fn read_response_add(&self, _arg_number: i32, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<()> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#add(_arg_number);
      }
    }
    let _aidl_reply = _aidl_reply?;
    Ok(())
  }
  fn build_parcel_added(&self) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    Ok(aidl_data)
  }
  fn read_response_added(&self, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Vec<i32>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as ITest>::getDefaultImpl() {
        return _aidl_default_impl.r#added();
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Vec<i32> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
}
impl ITest for BpTest {
  fn r#repeatBoolean(&self, _arg_value: bool) -> binder::Result<bool> {
    let _aidl_data = self.build_parcel_repeatBoolean(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#repeatBoolean, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_repeatBoolean(_arg_value, _aidl_reply)
  }
  fn r#repeatByte(&self, _arg_value: i8) -> binder::Result<i8> {
    let _aidl_data = self.build_parcel_repeatByte(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#repeatByte, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_repeatByte(_arg_value, _aidl_reply)
  }
  fn r#repeatChar(&self, _arg_value: u16) -> binder::Result<u16> {
    let _aidl_data = self.build_parcel_repeatChar(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#repeatChar, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_repeatChar(_arg_value, _aidl_reply)
  }
  fn r#repeatInt(&self, _arg_value: i32) -> binder::Result<i32> {
    let _aidl_data = self.build_parcel_repeatInt(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#repeatInt, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_repeatInt(_arg_value, _aidl_reply)
  }
  fn r#repeatLong(&self, _arg_value: i64) -> binder::Result<i64> {
    let _aidl_data = self.build_parcel_repeatLong(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#repeatLong, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_repeatLong(_arg_value, _aidl_reply)
  }
  fn r#repeatFloat(&self, _arg_value: f32) -> binder::Result<f32> {
    let _aidl_data = self.build_parcel_repeatFloat(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#repeatFloat, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_repeatFloat(_arg_value, _aidl_reply)
  }
  fn r#repeatDouble(&self, _arg_value: f64) -> binder::Result<f64> {
    let _aidl_data = self.build_parcel_repeatDouble(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#repeatDouble, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_repeatDouble(_arg_value, _aidl_reply)
  }
  fn r#repeatString(&self, _arg_value: &str) -> binder::Result<String> {
    let _aidl_data = self.build_parcel_repeatString(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#repeatString, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_repeatString(_arg_value, _aidl_reply)
  }
  fn r#repeatUtf8(&self, _arg_value: &str) -> binder::Result<String> {
    let _aidl_data = self.build_parcel_repeatUtf8(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#repeatUtf8, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_repeatUtf8(_arg_value, _aidl_reply)
  }
  fn r#repeatByteEnum(&self, _arg_value: crate::mangled::_9_anybinder_4_test_8_ByteEnum) -> binder::Result<crate::mangled::_9_anybinder_4_test_8_ByteEnum> {
    let _aidl_data = self.build_parcel_repeatByteEnum(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#repeatByteEnum, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_repeatByteEnum(_arg_value, _aidl_reply)
  }
  fn r#repeatIntEnum(&self, _arg_value: crate::mangled::_9_anybinder_4_test_7_IntEnum) -> binder::Result<crate::mangled::_9_anybinder_4_test_7_IntEnum> {
    let _aidl_data = self.build_parcel_repeatIntEnum(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#repeatIntEnum, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_repeatIntEnum(_arg_value, _aidl_reply)
  }
  fn r#repeatLongEnum(&self, _arg_value: crate::mangled::_9_anybinder_4_test_8_LongEnum) -> binder::Result<crate::mangled::_9_anybinder_4_test_8_LongEnum> {
    let _aidl_data = self.build_parcel_repeatLongEnum(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#repeatLongEnum, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_repeatLongEnum(_arg_value, _aidl_reply)
  }
  fn r#reverseBoolean(&self, _arg_value: &[bool], _arg_copy: &mut Vec<bool>) -> binder::Result<Vec<bool>> {
    let _aidl_data = self.build_parcel_reverseBoolean(_arg_value, _arg_copy)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#reverseBoolean, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_reverseBoolean(_arg_value, _arg_copy, _aidl_reply)
  }
  fn r#reverseByte(&self, _arg_value: &[u8], _arg_copy: &mut Vec<u8>) -> binder::Result<Vec<u8>> {
    let _aidl_data = self.build_parcel_reverseByte(_arg_value, _arg_copy)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#reverseByte, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_reverseByte(_arg_value, _arg_copy, _aidl_reply)
  }
  fn r#reverseChar(&self, _arg_value: &[u16], _arg_copy: &mut Vec<u16>) -> binder::Result<Vec<u16>> {
    let _aidl_data = self.build_parcel_reverseChar(_arg_value, _arg_copy)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#reverseChar, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_reverseChar(_arg_value, _arg_copy, _aidl_reply)
  }
  fn r#reverseInt(&self, _arg_value: &[i32], _arg_copy: &mut Vec<i32>) -> binder::Result<Vec<i32>> {
    let _aidl_data = self.build_parcel_reverseInt(_arg_value, _arg_copy)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#reverseInt, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_reverseInt(_arg_value, _arg_copy, _aidl_reply)
  }
  fn r#reverseLong(&self, _arg_value: &[i64], _arg_copy: &mut Vec<i64>) -> binder::Result<Vec<i64>> {
    let _aidl_data = self.build_parcel_reverseLong(_arg_value, _arg_copy)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#reverseLong, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_reverseLong(_arg_value, _arg_copy, _aidl_reply)
  }
  fn r#reverseFloat(&self, _arg_value: &[f32], _arg_copy: &mut Vec<f32>) -> binder::Result<Vec<f32>> {
    let _aidl_data = self.build_parcel_reverseFloat(_arg_value, _arg_copy)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#reverseFloat, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_reverseFloat(_arg_value, _arg_copy, _aidl_reply)
  }
  fn r#reverseDouble(&self, _arg_value: &[f64], _arg_copy: &mut Vec<f64>) -> binder::Result<Vec<f64>> {
    let _aidl_data = self.build_parcel_reverseDouble(_arg_value, _arg_copy)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#reverseDouble, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_reverseDouble(_arg_value, _arg_copy, _aidl_reply)
  }
  fn r#reverseString(&self, _arg_value: &[String], _arg_copy: &mut Vec<String>) -> binder::Result<Vec<String>> {
    let _aidl_data = self.build_parcel_reverseString(_arg_value, _arg_copy)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#reverseString, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_reverseString(_arg_value, _arg_copy, _aidl_reply)
  }
  fn r#reverseByteEnum(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_8_ByteEnum], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_8_ByteEnum>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_8_ByteEnum>> {
    let _aidl_data = self.build_parcel_reverseByteEnum(_arg_value, _arg_copy)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#reverseByteEnum, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_reverseByteEnum(_arg_value, _arg_copy, _aidl_reply)
  }
  fn r#reverseIntEnum(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_7_IntEnum], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>> {
    let _aidl_data = self.build_parcel_reverseIntEnum(_arg_value, _arg_copy)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#reverseIntEnum, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_reverseIntEnum(_arg_value, _arg_copy, _aidl_reply)
  }
  fn r#reverseLongEnum(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_8_LongEnum], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_8_LongEnum>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_8_LongEnum>> {
    let _aidl_data = self.build_parcel_reverseLongEnum(_arg_value, _arg_copy)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#reverseLongEnum, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_reverseLongEnum(_arg_value, _arg_copy, _aidl_reply)
  }
  fn r#reverseList(&self, _arg_value: &[String], _arg_copy: &mut Vec<String>) -> binder::Result<Vec<String>> {
    let _aidl_data = self.build_parcel_reverseList(_arg_value, _arg_copy)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#reverseList, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_reverseList(_arg_value, _arg_copy, _aidl_reply)
  }
  fn r#reversePoints(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_5_Point], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_5_Point>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_5_Point>> {
    let _aidl_data = self.build_parcel_reversePoints(_arg_value, _arg_copy)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#reversePoints, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_reversePoints(_arg_value, _arg_copy, _aidl_reply)
  }
  fn r#maybeString(&self, _arg_value: Option<&str>) -> binder::Result<Option<String>> {
    let _aidl_data = self.build_parcel_maybeString(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#maybeString, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_maybeString(_arg_value, _aidl_reply)
  }
  fn r#maybeList(&self, _arg_value: Option<&[Option<String>]>) -> binder::Result<Option<Vec<Option<String>>>> {
    let _aidl_data = self.build_parcel_maybeList(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#maybeList, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_maybeList(_arg_value, _aidl_reply)
  }
  fn r#maybeInts(&self, _arg_value: Option<&[i32]>) -> binder::Result<Option<Vec<i32>>> {
    let _aidl_data = self.build_parcel_maybeInts(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#maybeInts, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_maybeInts(_arg_value, _aidl_reply)
  }
  fn r#maybeBytes(&self, _arg_value: Option<&[u8]>) -> binder::Result<Option<Vec<u8>>> {
    let _aidl_data = self.build_parcel_maybeBytes(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#maybeBytes, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_maybeBytes(_arg_value, _aidl_reply)
  }
  fn r#maybeBooleans(&self, _arg_value: Option<&[bool]>, _arg_copy: &mut Option<Vec<bool>>) -> binder::Result<Option<Vec<bool>>> {
    let _aidl_data = self.build_parcel_maybeBooleans(_arg_value, _arg_copy)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#maybeBooleans, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_maybeBooleans(_arg_value, _arg_copy, _aidl_reply)
  }
  fn r#maybeEnums(&self, _arg_value: Option<&[crate::mangled::_9_anybinder_4_test_7_IntEnum]>) -> binder::Result<Option<Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>>> {
    let _aidl_data = self.build_parcel_maybeEnums(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#maybeEnums, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_maybeEnums(_arg_value, _aidl_reply)
  }
  fn r#maybeStrings(&self, _arg_value: Option<&[Option<String>]>) -> binder::Result<Option<Vec<Option<String>>>> {
    let _aidl_data = self.build_parcel_maybeStrings(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#maybeStrings, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_maybeStrings(_arg_value, _aidl_reply)
  }
  fn r#maybePoint(&self, _arg_value: Option<&crate::mangled::_9_anybinder_4_test_5_Point>) -> binder::Result<Option<crate::mangled::_9_anybinder_4_test_5_Point>> {
    let _aidl_data = self.build_parcel_maybePoint(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#maybePoint, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_maybePoint(_arg_value, _aidl_reply)
  }
  fn r#maybePoints(&self, _arg_value: Option<&[Option<crate::mangled::_9_anybinder_4_test_5_Point>]>) -> binder::Result<Option<Vec<Option<crate::mangled::_9_anybinder_4_test_5_Point>>>> {
    let _aidl_data = self.build_parcel_maybePoints(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#maybePoints, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_maybePoints(_arg_value, _aidl_reply)
  }
  fn r#maybeShape(&self, _arg_value: Option<&crate::mangled::_9_anybinder_4_test_5_Shape>) -> binder::Result<Option<crate::mangled::_9_anybinder_4_test_5_Shape>> {
    let _aidl_data = self.build_parcel_maybeShape(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#maybeShape, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_maybeShape(_arg_value, _aidl_reply)
  }
  fn r#maybeBinder(&self, _arg_value: Option<&binder::SpIBinder>) -> binder::Result<Option<binder::SpIBinder>> {
    let _aidl_data = self.build_parcel_maybeBinder(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#maybeBinder, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_maybeBinder(_arg_value, _aidl_reply)
  }
  fn r#maybeCallback(&self, _arg_value: Option<&binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>) -> binder::Result<Option<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>> {
    let _aidl_data = self.build_parcel_maybeCallback(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#maybeCallback, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_maybeCallback(_arg_value, _aidl_reply)
  }
  fn r#maybeFile(&self, _arg_value: Option<&binder::ParcelFileDescriptor>) -> binder::Result<Option<binder::ParcelFileDescriptor>> {
    let _aidl_data = self.build_parcel_maybeFile(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#maybeFile, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_maybeFile(_arg_value, _aidl_reply)
  }
  fn r#maybeNode(&self, _arg_value: Option<&crate::mangled::_9_anybinder_4_test_4_Node>) -> binder::Result<Option<crate::mangled::_9_anybinder_4_test_4_Node>> {
    let _aidl_data = self.build_parcel_maybeNode(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#maybeNode, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_maybeNode(_arg_value, _aidl_reply)
  }
  fn r#repeatFixed(&self, _arg_value: &[i32; 3], _arg_copy: &mut [i32; 3]) -> binder::Result<[i32; 3]> {
    let _aidl_data = self.build_parcel_repeatFixed(_arg_value, _arg_copy)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#repeatFixed, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_repeatFixed(_arg_value, _arg_copy, _aidl_reply)
  }
  fn r#repeatMatrix(&self, _arg_value: &[[i32; 3]; 2], _arg_copy: &mut [[i32; 3]; 2]) -> binder::Result<[[i32; 3]; 2]> {
    let _aidl_data = self.build_parcel_repeatMatrix(_arg_value, _arg_copy)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#repeatMatrix, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_repeatMatrix(_arg_value, _arg_copy, _aidl_reply)
  }
  fn r#repeatFixedPoints(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_5_Point; 2], _arg_copy: &mut [crate::mangled::_9_anybinder_4_test_5_Point; 2]) -> binder::Result<[crate::mangled::_9_anybinder_4_test_5_Point; 2]> {
    let _aidl_data = self.build_parcel_repeatFixedPoints(_arg_value, _arg_copy)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#repeatFixedPoints, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_repeatFixedPoints(_arg_value, _arg_copy, _aidl_reply)
  }
  fn r#repeatFixedBinders(&self, _arg_value: Option<&[Option<binder::SpIBinder>; 2]>) -> binder::Result<Option<[Option<binder::SpIBinder>; 2]>> {
    let _aidl_data = self.build_parcel_repeatFixedBinders(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#repeatFixedBinders, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_repeatFixedBinders(_arg_value, _aidl_reply)
  }
  fn r#repeatEverything(&self, _arg_value: &crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::Result<crate::mangled::_9_anybinder_4_test_10_Everything> {
    let _aidl_data = self.build_parcel_repeatEverything(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#repeatEverything, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_repeatEverything(_arg_value, _aidl_reply)
  }
  fn r#fillEverything(&self, _arg_value: &mut crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::Result<()> {
    let _aidl_data = self.build_parcel_fillEverything(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#fillEverything, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_fillEverything(_arg_value, _aidl_reply)
  }
  fn r#changeEverything(&self, _arg_value: &mut crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::Result<()> {
    let _aidl_data = self.build_parcel_changeEverything(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#changeEverything, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_changeEverything(_arg_value, _aidl_reply)
  }
  fn r#repeatShape(&self, _arg_value: &crate::mangled::_9_anybinder_4_test_5_Shape) -> binder::Result<crate::mangled::_9_anybinder_4_test_5_Shape> {
    let _aidl_data = self.build_parcel_repeatShape(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#repeatShape, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_repeatShape(_arg_value, _aidl_reply)
  }
  fn r#repeatTree(&self, _arg_value: &crate::mangled::_9_anybinder_4_test_4_Tree) -> binder::Result<crate::mangled::_9_anybinder_4_test_4_Tree> {
    let _aidl_data = self.build_parcel_repeatTree(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#repeatTree, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_repeatTree(_arg_value, _aidl_reply)
  }
  fn r#repeatBinder(&self, _arg_value: &binder::SpIBinder) -> binder::Result<binder::SpIBinder> {
    let _aidl_data = self.build_parcel_repeatBinder(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#repeatBinder, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_repeatBinder(_arg_value, _aidl_reply)
  }
  fn r#repeatBinders(&self, _arg_value: &[binder::SpIBinder]) -> binder::Result<Vec<binder::SpIBinder>> {
    let _aidl_data = self.build_parcel_repeatBinders(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#repeatBinders, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_repeatBinders(_arg_value, _aidl_reply)
  }
  fn r#repeatFile(&self, _arg_value: &binder::ParcelFileDescriptor) -> binder::Result<binder::ParcelFileDescriptor> {
    let _aidl_data = self.build_parcel_repeatFile(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#repeatFile, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_repeatFile(_arg_value, _aidl_reply)
  }
  fn r#reverseFiles(&self, _arg_value: &[binder::ParcelFileDescriptor], _arg_copy: &mut Vec<Option<binder::ParcelFileDescriptor>>) -> binder::Result<Vec<binder::ParcelFileDescriptor>> {
    let _aidl_data = self.build_parcel_reverseFiles(_arg_value, _arg_copy)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#reverseFiles, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_reverseFiles(_arg_value, _arg_copy, _aidl_reply)
  }
  fn r#repeatCallback(&self, _arg_value: &binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>) -> binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>> {
    let _aidl_data = self.build_parcel_repeatCallback(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#repeatCallback, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_repeatCallback(_arg_value, _aidl_reply)
  }
  fn r#repeatCallbacks(&self, _arg_value: &[binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>]) -> binder::Result<Vec<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>> {
    let _aidl_data = self.build_parcel_repeatCallbacks(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#repeatCallbacks, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_repeatCallbacks(_arg_value, _aidl_reply)
  }
  fn r#askThrough(&self, _arg_callback: &binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>, _arg_question: i32) -> binder::Result<i32> {
    let _aidl_data = self.build_parcel_askThrough(_arg_callback, _arg_question)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#askThrough, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_askThrough(_arg_callback, _arg_question, _aidl_reply)
  }
  fn r#noticeThrough(&self, _arg_callback: &binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>, _arg_number: i32) -> binder::Result<()> {
    let _aidl_data = self.build_parcel_noticeThrough(_arg_callback, _arg_number)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#noticeThrough, _aidl_data, binder::binder_impl::FLAG_ONEWAY | binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_noticeThrough(_arg_callback, _arg_number, _aidl_reply)
  }
  fn r#makeCallback(&self, _arg_offset: i32) -> binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>> {
    let _aidl_data = self.build_parcel_makeCallback(_arg_offset)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#makeCallback, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_makeCallback(_arg_offset, _aidl_reply)
  }
  fn r#secret(&self) -> binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_5_ITest_7_ISecret>> {
    let _aidl_data = self.build_parcel_secret()?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#secret, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_secret(_aidl_reply)
  }
  fn r#fail(&self, _arg_exception: i32, _arg_message: &str) -> binder::Result<()> {
    let _aidl_data = self.build_parcel_fail(_arg_exception, _arg_message)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#fail, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_fail(_arg_exception, _arg_message, _aidl_reply)
  }
  fn r#failSpecific(&self, _arg_error: i32, _arg_message: &str) -> binder::Result<()> {
    let _aidl_data = self.build_parcel_failSpecific(_arg_error, _arg_message)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#failSpecific, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_failSpecific(_arg_error, _arg_message, _aidl_reply)
  }
  fn r#failStatus(&self, _arg_status: i32) -> binder::Result<()> {
    let _aidl_data = self.build_parcel_failStatus(_arg_status)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#failStatus, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_failStatus(_arg_status, _aidl_reply)
  }
  fn r#callingIdentity(&self, _arg_pidAndUid: &mut Vec<i32>) -> binder::Result<()> {
    let _aidl_data = self.build_parcel_callingIdentity(_arg_pidAndUid)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#callingIdentity, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_callingIdentity(_arg_pidAndUid, _aidl_reply)
  }
  fn r#add(&self, _arg_number: i32) -> binder::Result<()> {
    let _aidl_data = self.build_parcel_add(_arg_number)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#add, _aidl_data, binder::binder_impl::FLAG_ONEWAY | binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_add(_arg_number, _aidl_reply)
  }
  fn r#added(&self) -> binder::Result<Vec<i32>> {
    let _aidl_data = self.build_parcel_added()?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#added, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_added(_aidl_reply)
  }
}
impl<P: binder::BinderAsyncPool> ITestAsync<P> for BpTest {
  fn r#repeatBoolean<'a>(&'a self, _arg_value: bool) -> binder::BoxFuture<'a, binder::Result<bool>> {
    let _aidl_data = match self.build_parcel_repeatBoolean(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#repeatBoolean, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_repeatBoolean(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#repeatByte<'a>(&'a self, _arg_value: i8) -> binder::BoxFuture<'a, binder::Result<i8>> {
    let _aidl_data = match self.build_parcel_repeatByte(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#repeatByte, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_repeatByte(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#repeatChar<'a>(&'a self, _arg_value: u16) -> binder::BoxFuture<'a, binder::Result<u16>> {
    let _aidl_data = match self.build_parcel_repeatChar(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#repeatChar, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_repeatChar(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#repeatInt<'a>(&'a self, _arg_value: i32) -> binder::BoxFuture<'a, binder::Result<i32>> {
    let _aidl_data = match self.build_parcel_repeatInt(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#repeatInt, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_repeatInt(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#repeatLong<'a>(&'a self, _arg_value: i64) -> binder::BoxFuture<'a, binder::Result<i64>> {
    let _aidl_data = match self.build_parcel_repeatLong(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#repeatLong, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_repeatLong(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#repeatFloat<'a>(&'a self, _arg_value: f32) -> binder::BoxFuture<'a, binder::Result<f32>> {
    let _aidl_data = match self.build_parcel_repeatFloat(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#repeatFloat, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_repeatFloat(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#repeatDouble<'a>(&'a self, _arg_value: f64) -> binder::BoxFuture<'a, binder::Result<f64>> {
    let _aidl_data = match self.build_parcel_repeatDouble(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#repeatDouble, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_repeatDouble(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#repeatString<'a>(&'a self, _arg_value: &'a str) -> binder::BoxFuture<'a, binder::Result<String>> {
    let _aidl_data = match self.build_parcel_repeatString(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#repeatString, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_repeatString(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#repeatUtf8<'a>(&'a self, _arg_value: &'a str) -> binder::BoxFuture<'a, binder::Result<String>> {
    let _aidl_data = match self.build_parcel_repeatUtf8(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#repeatUtf8, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_repeatUtf8(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#repeatByteEnum<'a>(&'a self, _arg_value: crate::mangled::_9_anybinder_4_test_8_ByteEnum) -> binder::BoxFuture<'a, binder::Result<crate::mangled::_9_anybinder_4_test_8_ByteEnum>> {
    let _aidl_data = match self.build_parcel_repeatByteEnum(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#repeatByteEnum, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_repeatByteEnum(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#repeatIntEnum<'a>(&'a self, _arg_value: crate::mangled::_9_anybinder_4_test_7_IntEnum) -> binder::BoxFuture<'a, binder::Result<crate::mangled::_9_anybinder_4_test_7_IntEnum>> {
    let _aidl_data = match self.build_parcel_repeatIntEnum(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#repeatIntEnum, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_repeatIntEnum(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#repeatLongEnum<'a>(&'a self, _arg_value: crate::mangled::_9_anybinder_4_test_8_LongEnum) -> binder::BoxFuture<'a, binder::Result<crate::mangled::_9_anybinder_4_test_8_LongEnum>> {
    let _aidl_data = match self.build_parcel_repeatLongEnum(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#repeatLongEnum, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_repeatLongEnum(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#reverseBoolean<'a>(&'a self, _arg_value: &'a [bool], _arg_copy: &'a mut Vec<bool>) -> binder::BoxFuture<'a, binder::Result<Vec<bool>>> {
    let _aidl_data = match self.build_parcel_reverseBoolean(_arg_value, _arg_copy) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#reverseBoolean, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_reverseBoolean(_arg_value, _arg_copy, _aidl_reply)
      }
    )
  }
  fn r#reverseByte<'a>(&'a self, _arg_value: &'a [u8], _arg_copy: &'a mut Vec<u8>) -> binder::BoxFuture<'a, binder::Result<Vec<u8>>> {
    let _aidl_data = match self.build_parcel_reverseByte(_arg_value, _arg_copy) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#reverseByte, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_reverseByte(_arg_value, _arg_copy, _aidl_reply)
      }
    )
  }
  fn r#reverseChar<'a>(&'a self, _arg_value: &'a [u16], _arg_copy: &'a mut Vec<u16>) -> binder::BoxFuture<'a, binder::Result<Vec<u16>>> {
    let _aidl_data = match self.build_parcel_reverseChar(_arg_value, _arg_copy) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#reverseChar, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_reverseChar(_arg_value, _arg_copy, _aidl_reply)
      }
    )
  }
  fn r#reverseInt<'a>(&'a self, _arg_value: &'a [i32], _arg_copy: &'a mut Vec<i32>) -> binder::BoxFuture<'a, binder::Result<Vec<i32>>> {
    let _aidl_data = match self.build_parcel_reverseInt(_arg_value, _arg_copy) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#reverseInt, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_reverseInt(_arg_value, _arg_copy, _aidl_reply)
      }
    )
  }
  fn r#reverseLong<'a>(&'a self, _arg_value: &'a [i64], _arg_copy: &'a mut Vec<i64>) -> binder::BoxFuture<'a, binder::Result<Vec<i64>>> {
    let _aidl_data = match self.build_parcel_reverseLong(_arg_value, _arg_copy) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#reverseLong, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_reverseLong(_arg_value, _arg_copy, _aidl_reply)
      }
    )
  }
  fn r#reverseFloat<'a>(&'a self, _arg_value: &'a [f32], _arg_copy: &'a mut Vec<f32>) -> binder::BoxFuture<'a, binder::Result<Vec<f32>>> {
    let _aidl_data = match self.build_parcel_reverseFloat(_arg_value, _arg_copy) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#reverseFloat, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_reverseFloat(_arg_value, _arg_copy, _aidl_reply)
      }
    )
  }
  fn r#reverseDouble<'a>(&'a self, _arg_value: &'a [f64], _arg_copy: &'a mut Vec<f64>) -> binder::BoxFuture<'a, binder::Result<Vec<f64>>> {
    let _aidl_data = match self.build_parcel_reverseDouble(_arg_value, _arg_copy) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#reverseDouble, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_reverseDouble(_arg_value, _arg_copy, _aidl_reply)
      }
    )
  }
  fn r#reverseString<'a>(&'a self, _arg_value: &'a [String], _arg_copy: &'a mut Vec<String>) -> binder::BoxFuture<'a, binder::Result<Vec<String>>> {
    let _aidl_data = match self.build_parcel_reverseString(_arg_value, _arg_copy) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#reverseString, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_reverseString(_arg_value, _arg_copy, _aidl_reply)
      }
    )
  }
  fn r#reverseByteEnum<'a>(&'a self, _arg_value: &'a [crate::mangled::_9_anybinder_4_test_8_ByteEnum], _arg_copy: &'a mut Vec<crate::mangled::_9_anybinder_4_test_8_ByteEnum>) -> binder::BoxFuture<'a, binder::Result<Vec<crate::mangled::_9_anybinder_4_test_8_ByteEnum>>> {
    let _aidl_data = match self.build_parcel_reverseByteEnum(_arg_value, _arg_copy) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#reverseByteEnum, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_reverseByteEnum(_arg_value, _arg_copy, _aidl_reply)
      }
    )
  }
  fn r#reverseIntEnum<'a>(&'a self, _arg_value: &'a [crate::mangled::_9_anybinder_4_test_7_IntEnum], _arg_copy: &'a mut Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>) -> binder::BoxFuture<'a, binder::Result<Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>>> {
    let _aidl_data = match self.build_parcel_reverseIntEnum(_arg_value, _arg_copy) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#reverseIntEnum, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_reverseIntEnum(_arg_value, _arg_copy, _aidl_reply)
      }
    )
  }
  fn r#reverseLongEnum<'a>(&'a self, _arg_value: &'a [crate::mangled::_9_anybinder_4_test_8_LongEnum], _arg_copy: &'a mut Vec<crate::mangled::_9_anybinder_4_test_8_LongEnum>) -> binder::BoxFuture<'a, binder::Result<Vec<crate::mangled::_9_anybinder_4_test_8_LongEnum>>> {
    let _aidl_data = match self.build_parcel_reverseLongEnum(_arg_value, _arg_copy) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#reverseLongEnum, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_reverseLongEnum(_arg_value, _arg_copy, _aidl_reply)
      }
    )
  }
  fn r#reverseList<'a>(&'a self, _arg_value: &'a [String], _arg_copy: &'a mut Vec<String>) -> binder::BoxFuture<'a, binder::Result<Vec<String>>> {
    let _aidl_data = match self.build_parcel_reverseList(_arg_value, _arg_copy) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#reverseList, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_reverseList(_arg_value, _arg_copy, _aidl_reply)
      }
    )
  }
  fn r#reversePoints<'a>(&'a self, _arg_value: &'a [crate::mangled::_9_anybinder_4_test_5_Point], _arg_copy: &'a mut Vec<crate::mangled::_9_anybinder_4_test_5_Point>) -> binder::BoxFuture<'a, binder::Result<Vec<crate::mangled::_9_anybinder_4_test_5_Point>>> {
    let _aidl_data = match self.build_parcel_reversePoints(_arg_value, _arg_copy) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#reversePoints, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_reversePoints(_arg_value, _arg_copy, _aidl_reply)
      }
    )
  }
  fn r#maybeString<'a>(&'a self, _arg_value: Option<&'a str>) -> binder::BoxFuture<'a, binder::Result<Option<String>>> {
    let _aidl_data = match self.build_parcel_maybeString(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#maybeString, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_maybeString(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#maybeList<'a>(&'a self, _arg_value: Option<&'a [Option<String>]>) -> binder::BoxFuture<'a, binder::Result<Option<Vec<Option<String>>>>> {
    let _aidl_data = match self.build_parcel_maybeList(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#maybeList, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_maybeList(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#maybeInts<'a>(&'a self, _arg_value: Option<&'a [i32]>) -> binder::BoxFuture<'a, binder::Result<Option<Vec<i32>>>> {
    let _aidl_data = match self.build_parcel_maybeInts(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#maybeInts, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_maybeInts(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#maybeBytes<'a>(&'a self, _arg_value: Option<&'a [u8]>) -> binder::BoxFuture<'a, binder::Result<Option<Vec<u8>>>> {
    let _aidl_data = match self.build_parcel_maybeBytes(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#maybeBytes, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_maybeBytes(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#maybeBooleans<'a>(&'a self, _arg_value: Option<&'a [bool]>, _arg_copy: &'a mut Option<Vec<bool>>) -> binder::BoxFuture<'a, binder::Result<Option<Vec<bool>>>> {
    let _aidl_data = match self.build_parcel_maybeBooleans(_arg_value, _arg_copy) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#maybeBooleans, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_maybeBooleans(_arg_value, _arg_copy, _aidl_reply)
      }
    )
  }
  fn r#maybeEnums<'a>(&'a self, _arg_value: Option<&'a [crate::mangled::_9_anybinder_4_test_7_IntEnum]>) -> binder::BoxFuture<'a, binder::Result<Option<Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>>>> {
    let _aidl_data = match self.build_parcel_maybeEnums(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#maybeEnums, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_maybeEnums(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#maybeStrings<'a>(&'a self, _arg_value: Option<&'a [Option<String>]>) -> binder::BoxFuture<'a, binder::Result<Option<Vec<Option<String>>>>> {
    let _aidl_data = match self.build_parcel_maybeStrings(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#maybeStrings, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_maybeStrings(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#maybePoint<'a>(&'a self, _arg_value: Option<&'a crate::mangled::_9_anybinder_4_test_5_Point>) -> binder::BoxFuture<'a, binder::Result<Option<crate::mangled::_9_anybinder_4_test_5_Point>>> {
    let _aidl_data = match self.build_parcel_maybePoint(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#maybePoint, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_maybePoint(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#maybePoints<'a>(&'a self, _arg_value: Option<&'a [Option<crate::mangled::_9_anybinder_4_test_5_Point>]>) -> binder::BoxFuture<'a, binder::Result<Option<Vec<Option<crate::mangled::_9_anybinder_4_test_5_Point>>>>> {
    let _aidl_data = match self.build_parcel_maybePoints(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#maybePoints, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_maybePoints(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#maybeShape<'a>(&'a self, _arg_value: Option<&'a crate::mangled::_9_anybinder_4_test_5_Shape>) -> binder::BoxFuture<'a, binder::Result<Option<crate::mangled::_9_anybinder_4_test_5_Shape>>> {
    let _aidl_data = match self.build_parcel_maybeShape(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#maybeShape, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_maybeShape(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#maybeBinder<'a>(&'a self, _arg_value: Option<&'a binder::SpIBinder>) -> binder::BoxFuture<'a, binder::Result<Option<binder::SpIBinder>>> {
    let _aidl_data = match self.build_parcel_maybeBinder(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#maybeBinder, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_maybeBinder(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#maybeCallback<'a>(&'a self, _arg_value: Option<&'a binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>) -> binder::BoxFuture<'a, binder::Result<Option<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>>> {
    let _aidl_data = match self.build_parcel_maybeCallback(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#maybeCallback, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_maybeCallback(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#maybeFile<'a>(&'a self, _arg_value: Option<&'a binder::ParcelFileDescriptor>) -> binder::BoxFuture<'a, binder::Result<Option<binder::ParcelFileDescriptor>>> {
    let _aidl_data = match self.build_parcel_maybeFile(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#maybeFile, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_maybeFile(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#maybeNode<'a>(&'a self, _arg_value: Option<&'a crate::mangled::_9_anybinder_4_test_4_Node>) -> binder::BoxFuture<'a, binder::Result<Option<crate::mangled::_9_anybinder_4_test_4_Node>>> {
    let _aidl_data = match self.build_parcel_maybeNode(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#maybeNode, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_maybeNode(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#repeatFixed<'a>(&'a self, _arg_value: &'a [i32; 3], _arg_copy: &'a mut [i32; 3]) -> binder::BoxFuture<'a, binder::Result<[i32; 3]>> {
    let _aidl_data = match self.build_parcel_repeatFixed(_arg_value, _arg_copy) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#repeatFixed, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_repeatFixed(_arg_value, _arg_copy, _aidl_reply)
      }
    )
  }
  fn r#repeatMatrix<'a>(&'a self, _arg_value: &'a [[i32; 3]; 2], _arg_copy: &'a mut [[i32; 3]; 2]) -> binder::BoxFuture<'a, binder::Result<[[i32; 3]; 2]>> {
    let _aidl_data = match self.build_parcel_repeatMatrix(_arg_value, _arg_copy) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#repeatMatrix, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_repeatMatrix(_arg_value, _arg_copy, _aidl_reply)
      }
    )
  }
  fn r#repeatFixedPoints<'a>(&'a self, _arg_value: &'a [crate::mangled::_9_anybinder_4_test_5_Point; 2], _arg_copy: &'a mut [crate::mangled::_9_anybinder_4_test_5_Point; 2]) -> binder::BoxFuture<'a, binder::Result<[crate::mangled::_9_anybinder_4_test_5_Point; 2]>> {
    let _aidl_data = match self.build_parcel_repeatFixedPoints(_arg_value, _arg_copy) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#repeatFixedPoints, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_repeatFixedPoints(_arg_value, _arg_copy, _aidl_reply)
      }
    )
  }
  fn r#repeatFixedBinders<'a>(&'a self, _arg_value: Option<&'a [Option<binder::SpIBinder>; 2]>) -> binder::BoxFuture<'a, binder::Result<Option<[Option<binder::SpIBinder>; 2]>>> {
    let _aidl_data = match self.build_parcel_repeatFixedBinders(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#repeatFixedBinders, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_repeatFixedBinders(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#repeatEverything<'a>(&'a self, _arg_value: &'a crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::BoxFuture<'a, binder::Result<crate::mangled::_9_anybinder_4_test_10_Everything>> {
    let _aidl_data = match self.build_parcel_repeatEverything(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#repeatEverything, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_repeatEverything(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#fillEverything<'a>(&'a self, _arg_value: &'a mut crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::BoxFuture<'a, binder::Result<()>> {
    let _aidl_data = match self.build_parcel_fillEverything(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#fillEverything, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_fillEverything(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#changeEverything<'a>(&'a self, _arg_value: &'a mut crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::BoxFuture<'a, binder::Result<()>> {
    let _aidl_data = match self.build_parcel_changeEverything(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#changeEverything, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_changeEverything(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#repeatShape<'a>(&'a self, _arg_value: &'a crate::mangled::_9_anybinder_4_test_5_Shape) -> binder::BoxFuture<'a, binder::Result<crate::mangled::_9_anybinder_4_test_5_Shape>> {
    let _aidl_data = match self.build_parcel_repeatShape(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#repeatShape, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_repeatShape(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#repeatTree<'a>(&'a self, _arg_value: &'a crate::mangled::_9_anybinder_4_test_4_Tree) -> binder::BoxFuture<'a, binder::Result<crate::mangled::_9_anybinder_4_test_4_Tree>> {
    let _aidl_data = match self.build_parcel_repeatTree(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#repeatTree, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_repeatTree(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#repeatBinder<'a>(&'a self, _arg_value: &'a binder::SpIBinder) -> binder::BoxFuture<'a, binder::Result<binder::SpIBinder>> {
    let _aidl_data = match self.build_parcel_repeatBinder(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#repeatBinder, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_repeatBinder(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#repeatBinders<'a>(&'a self, _arg_value: &'a [binder::SpIBinder]) -> binder::BoxFuture<'a, binder::Result<Vec<binder::SpIBinder>>> {
    let _aidl_data = match self.build_parcel_repeatBinders(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#repeatBinders, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_repeatBinders(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#repeatFile<'a>(&'a self, _arg_value: &'a binder::ParcelFileDescriptor) -> binder::BoxFuture<'a, binder::Result<binder::ParcelFileDescriptor>> {
    let _aidl_data = match self.build_parcel_repeatFile(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#repeatFile, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_repeatFile(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#reverseFiles<'a>(&'a self, _arg_value: &'a [binder::ParcelFileDescriptor], _arg_copy: &'a mut Vec<Option<binder::ParcelFileDescriptor>>) -> binder::BoxFuture<'a, binder::Result<Vec<binder::ParcelFileDescriptor>>> {
    let _aidl_data = match self.build_parcel_reverseFiles(_arg_value, _arg_copy) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#reverseFiles, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_reverseFiles(_arg_value, _arg_copy, _aidl_reply)
      }
    )
  }
  fn r#repeatCallback<'a>(&'a self, _arg_value: &'a binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>) -> binder::BoxFuture<'a, binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>> {
    let _aidl_data = match self.build_parcel_repeatCallback(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#repeatCallback, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_repeatCallback(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#repeatCallbacks<'a>(&'a self, _arg_value: &'a [binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>]) -> binder::BoxFuture<'a, binder::Result<Vec<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>>> {
    let _aidl_data = match self.build_parcel_repeatCallbacks(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#repeatCallbacks, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_repeatCallbacks(_arg_value, _aidl_reply)
      }
    )
  }
  fn r#askThrough<'a>(&'a self, _arg_callback: &'a binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>, _arg_question: i32) -> binder::BoxFuture<'a, binder::Result<i32>> {
    let _aidl_data = match self.build_parcel_askThrough(_arg_callback, _arg_question) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#askThrough, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_askThrough(_arg_callback, _arg_question, _aidl_reply)
      }
    )
  }
  fn r#noticeThrough(&self, _arg_callback: &binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>, _arg_number: i32) -> std::future::Ready<binder::Result<()>> {
    let _aidl_data = match self.build_parcel_noticeThrough(_arg_callback, _arg_number) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return std::future::ready(Err(err)),
    };
    let _aidl_reply = self.binder.submit_transact(transactions::r#noticeThrough, _aidl_data, binder::binder_impl::FLAG_ONEWAY | binder::binder_impl::FLAG_PRIVATE_LOCAL);
    std::future::ready(self.read_response_noticeThrough(_arg_callback, _arg_number, _aidl_reply))
  }
  fn r#makeCallback<'a>(&'a self, _arg_offset: i32) -> binder::BoxFuture<'a, binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>> {
    let _aidl_data = match self.build_parcel_makeCallback(_arg_offset) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#makeCallback, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_makeCallback(_arg_offset, _aidl_reply)
      }
    )
  }
  fn r#secret<'a>(&'a self) -> binder::BoxFuture<'a, binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_5_ITest_7_ISecret>>> {
    let _aidl_data = match self.build_parcel_secret() {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#secret, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_secret(_aidl_reply)
      }
    )
  }
  fn r#fail<'a>(&'a self, _arg_exception: i32, _arg_message: &'a str) -> binder::BoxFuture<'a, binder::Result<()>> {
    let _aidl_data = match self.build_parcel_fail(_arg_exception, _arg_message) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#fail, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_fail(_arg_exception, _arg_message, _aidl_reply)
      }
    )
  }
  fn r#failSpecific<'a>(&'a self, _arg_error: i32, _arg_message: &'a str) -> binder::BoxFuture<'a, binder::Result<()>> {
    let _aidl_data = match self.build_parcel_failSpecific(_arg_error, _arg_message) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#failSpecific, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_failSpecific(_arg_error, _arg_message, _aidl_reply)
      }
    )
  }
  fn r#failStatus<'a>(&'a self, _arg_status: i32) -> binder::BoxFuture<'a, binder::Result<()>> {
    let _aidl_data = match self.build_parcel_failStatus(_arg_status) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#failStatus, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_failStatus(_arg_status, _aidl_reply)
      }
    )
  }
  fn r#callingIdentity<'a>(&'a self, _arg_pidAndUid: &'a mut Vec<i32>) -> binder::BoxFuture<'a, binder::Result<()>> {
    let _aidl_data = match self.build_parcel_callingIdentity(_arg_pidAndUid) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#callingIdentity, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_callingIdentity(_arg_pidAndUid, _aidl_reply)
      }
    )
  }
  fn r#add(&self, _arg_number: i32) -> std::future::Ready<binder::Result<()>> {
    let _aidl_data = match self.build_parcel_add(_arg_number) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return std::future::ready(Err(err)),
    };
    let _aidl_reply = self.binder.submit_transact(transactions::r#add, _aidl_data, binder::binder_impl::FLAG_ONEWAY | binder::binder_impl::FLAG_PRIVATE_LOCAL);
    std::future::ready(self.read_response_add(_arg_number, _aidl_reply))
  }
  fn r#added<'a>(&'a self) -> binder::BoxFuture<'a, binder::Result<Vec<i32>>> {
    let _aidl_data = match self.build_parcel_added() {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#added, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_added(_aidl_reply)
      }
    )
  }
}
impl ITest for binder::binder_impl::Binder<BnTest> {
  fn r#repeatBoolean(&self, _arg_value: bool) -> binder::Result<bool> { self.0.r#repeatBoolean(_arg_value) }
  fn r#repeatByte(&self, _arg_value: i8) -> binder::Result<i8> { self.0.r#repeatByte(_arg_value) }
  fn r#repeatChar(&self, _arg_value: u16) -> binder::Result<u16> { self.0.r#repeatChar(_arg_value) }
  fn r#repeatInt(&self, _arg_value: i32) -> binder::Result<i32> { self.0.r#repeatInt(_arg_value) }
  fn r#repeatLong(&self, _arg_value: i64) -> binder::Result<i64> { self.0.r#repeatLong(_arg_value) }
  fn r#repeatFloat(&self, _arg_value: f32) -> binder::Result<f32> { self.0.r#repeatFloat(_arg_value) }
  fn r#repeatDouble(&self, _arg_value: f64) -> binder::Result<f64> { self.0.r#repeatDouble(_arg_value) }
  fn r#repeatString(&self, _arg_value: &str) -> binder::Result<String> { self.0.r#repeatString(_arg_value) }
  fn r#repeatUtf8(&self, _arg_value: &str) -> binder::Result<String> { self.0.r#repeatUtf8(_arg_value) }
  fn r#repeatByteEnum(&self, _arg_value: crate::mangled::_9_anybinder_4_test_8_ByteEnum) -> binder::Result<crate::mangled::_9_anybinder_4_test_8_ByteEnum> { self.0.r#repeatByteEnum(_arg_value) }
  fn r#repeatIntEnum(&self, _arg_value: crate::mangled::_9_anybinder_4_test_7_IntEnum) -> binder::Result<crate::mangled::_9_anybinder_4_test_7_IntEnum> { self.0.r#repeatIntEnum(_arg_value) }
  fn r#repeatLongEnum(&self, _arg_value: crate::mangled::_9_anybinder_4_test_8_LongEnum) -> binder::Result<crate::mangled::_9_anybinder_4_test_8_LongEnum> { self.0.r#repeatLongEnum(_arg_value) }
  fn r#reverseBoolean(&self, _arg_value: &[bool], _arg_copy: &mut Vec<bool>) -> binder::Result<Vec<bool>> { self.0.r#reverseBoolean(_arg_value, _arg_copy) }
  fn r#reverseByte(&self, _arg_value: &[u8], _arg_copy: &mut Vec<u8>) -> binder::Result<Vec<u8>> { self.0.r#reverseByte(_arg_value, _arg_copy) }
  fn r#reverseChar(&self, _arg_value: &[u16], _arg_copy: &mut Vec<u16>) -> binder::Result<Vec<u16>> { self.0.r#reverseChar(_arg_value, _arg_copy) }
  fn r#reverseInt(&self, _arg_value: &[i32], _arg_copy: &mut Vec<i32>) -> binder::Result<Vec<i32>> { self.0.r#reverseInt(_arg_value, _arg_copy) }
  fn r#reverseLong(&self, _arg_value: &[i64], _arg_copy: &mut Vec<i64>) -> binder::Result<Vec<i64>> { self.0.r#reverseLong(_arg_value, _arg_copy) }
  fn r#reverseFloat(&self, _arg_value: &[f32], _arg_copy: &mut Vec<f32>) -> binder::Result<Vec<f32>> { self.0.r#reverseFloat(_arg_value, _arg_copy) }
  fn r#reverseDouble(&self, _arg_value: &[f64], _arg_copy: &mut Vec<f64>) -> binder::Result<Vec<f64>> { self.0.r#reverseDouble(_arg_value, _arg_copy) }
  fn r#reverseString(&self, _arg_value: &[String], _arg_copy: &mut Vec<String>) -> binder::Result<Vec<String>> { self.0.r#reverseString(_arg_value, _arg_copy) }
  fn r#reverseByteEnum(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_8_ByteEnum], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_8_ByteEnum>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_8_ByteEnum>> { self.0.r#reverseByteEnum(_arg_value, _arg_copy) }
  fn r#reverseIntEnum(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_7_IntEnum], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>> { self.0.r#reverseIntEnum(_arg_value, _arg_copy) }
  fn r#reverseLongEnum(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_8_LongEnum], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_8_LongEnum>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_8_LongEnum>> { self.0.r#reverseLongEnum(_arg_value, _arg_copy) }
  fn r#reverseList(&self, _arg_value: &[String], _arg_copy: &mut Vec<String>) -> binder::Result<Vec<String>> { self.0.r#reverseList(_arg_value, _arg_copy) }
  fn r#reversePoints(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_5_Point], _arg_copy: &mut Vec<crate::mangled::_9_anybinder_4_test_5_Point>) -> binder::Result<Vec<crate::mangled::_9_anybinder_4_test_5_Point>> { self.0.r#reversePoints(_arg_value, _arg_copy) }
  fn r#maybeString(&self, _arg_value: Option<&str>) -> binder::Result<Option<String>> { self.0.r#maybeString(_arg_value) }
  fn r#maybeList(&self, _arg_value: Option<&[Option<String>]>) -> binder::Result<Option<Vec<Option<String>>>> { self.0.r#maybeList(_arg_value) }
  fn r#maybeInts(&self, _arg_value: Option<&[i32]>) -> binder::Result<Option<Vec<i32>>> { self.0.r#maybeInts(_arg_value) }
  fn r#maybeBytes(&self, _arg_value: Option<&[u8]>) -> binder::Result<Option<Vec<u8>>> { self.0.r#maybeBytes(_arg_value) }
  fn r#maybeBooleans(&self, _arg_value: Option<&[bool]>, _arg_copy: &mut Option<Vec<bool>>) -> binder::Result<Option<Vec<bool>>> { self.0.r#maybeBooleans(_arg_value, _arg_copy) }
  fn r#maybeEnums(&self, _arg_value: Option<&[crate::mangled::_9_anybinder_4_test_7_IntEnum]>) -> binder::Result<Option<Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>>> { self.0.r#maybeEnums(_arg_value) }
  fn r#maybeStrings(&self, _arg_value: Option<&[Option<String>]>) -> binder::Result<Option<Vec<Option<String>>>> { self.0.r#maybeStrings(_arg_value) }
  fn r#maybePoint(&self, _arg_value: Option<&crate::mangled::_9_anybinder_4_test_5_Point>) -> binder::Result<Option<crate::mangled::_9_anybinder_4_test_5_Point>> { self.0.r#maybePoint(_arg_value) }
  fn r#maybePoints(&self, _arg_value: Option<&[Option<crate::mangled::_9_anybinder_4_test_5_Point>]>) -> binder::Result<Option<Vec<Option<crate::mangled::_9_anybinder_4_test_5_Point>>>> { self.0.r#maybePoints(_arg_value) }
  fn r#maybeShape(&self, _arg_value: Option<&crate::mangled::_9_anybinder_4_test_5_Shape>) -> binder::Result<Option<crate::mangled::_9_anybinder_4_test_5_Shape>> { self.0.r#maybeShape(_arg_value) }
  fn r#maybeBinder(&self, _arg_value: Option<&binder::SpIBinder>) -> binder::Result<Option<binder::SpIBinder>> { self.0.r#maybeBinder(_arg_value) }
  fn r#maybeCallback(&self, _arg_value: Option<&binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>) -> binder::Result<Option<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>> { self.0.r#maybeCallback(_arg_value) }
  fn r#maybeFile(&self, _arg_value: Option<&binder::ParcelFileDescriptor>) -> binder::Result<Option<binder::ParcelFileDescriptor>> { self.0.r#maybeFile(_arg_value) }
  fn r#maybeNode(&self, _arg_value: Option<&crate::mangled::_9_anybinder_4_test_4_Node>) -> binder::Result<Option<crate::mangled::_9_anybinder_4_test_4_Node>> { self.0.r#maybeNode(_arg_value) }
  fn r#repeatFixed(&self, _arg_value: &[i32; 3], _arg_copy: &mut [i32; 3]) -> binder::Result<[i32; 3]> { self.0.r#repeatFixed(_arg_value, _arg_copy) }
  fn r#repeatMatrix(&self, _arg_value: &[[i32; 3]; 2], _arg_copy: &mut [[i32; 3]; 2]) -> binder::Result<[[i32; 3]; 2]> { self.0.r#repeatMatrix(_arg_value, _arg_copy) }
  fn r#repeatFixedPoints(&self, _arg_value: &[crate::mangled::_9_anybinder_4_test_5_Point; 2], _arg_copy: &mut [crate::mangled::_9_anybinder_4_test_5_Point; 2]) -> binder::Result<[crate::mangled::_9_anybinder_4_test_5_Point; 2]> { self.0.r#repeatFixedPoints(_arg_value, _arg_copy) }
  fn r#repeatFixedBinders(&self, _arg_value: Option<&[Option<binder::SpIBinder>; 2]>) -> binder::Result<Option<[Option<binder::SpIBinder>; 2]>> { self.0.r#repeatFixedBinders(_arg_value) }
  fn r#repeatEverything(&self, _arg_value: &crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::Result<crate::mangled::_9_anybinder_4_test_10_Everything> { self.0.r#repeatEverything(_arg_value) }
  fn r#fillEverything(&self, _arg_value: &mut crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::Result<()> { self.0.r#fillEverything(_arg_value) }
  fn r#changeEverything(&self, _arg_value: &mut crate::mangled::_9_anybinder_4_test_10_Everything) -> binder::Result<()> { self.0.r#changeEverything(_arg_value) }
  fn r#repeatShape(&self, _arg_value: &crate::mangled::_9_anybinder_4_test_5_Shape) -> binder::Result<crate::mangled::_9_anybinder_4_test_5_Shape> { self.0.r#repeatShape(_arg_value) }
  fn r#repeatTree(&self, _arg_value: &crate::mangled::_9_anybinder_4_test_4_Tree) -> binder::Result<crate::mangled::_9_anybinder_4_test_4_Tree> { self.0.r#repeatTree(_arg_value) }
  fn r#repeatBinder(&self, _arg_value: &binder::SpIBinder) -> binder::Result<binder::SpIBinder> { self.0.r#repeatBinder(_arg_value) }
  fn r#repeatBinders(&self, _arg_value: &[binder::SpIBinder]) -> binder::Result<Vec<binder::SpIBinder>> { self.0.r#repeatBinders(_arg_value) }
  fn r#repeatFile(&self, _arg_value: &binder::ParcelFileDescriptor) -> binder::Result<binder::ParcelFileDescriptor> { self.0.r#repeatFile(_arg_value) }
  fn r#reverseFiles(&self, _arg_value: &[binder::ParcelFileDescriptor], _arg_copy: &mut Vec<Option<binder::ParcelFileDescriptor>>) -> binder::Result<Vec<binder::ParcelFileDescriptor>> { self.0.r#reverseFiles(_arg_value, _arg_copy) }
  fn r#repeatCallback(&self, _arg_value: &binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>) -> binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>> { self.0.r#repeatCallback(_arg_value) }
  fn r#repeatCallbacks(&self, _arg_value: &[binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>]) -> binder::Result<Vec<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>>> { self.0.r#repeatCallbacks(_arg_value) }
  fn r#askThrough(&self, _arg_callback: &binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>, _arg_question: i32) -> binder::Result<i32> { self.0.r#askThrough(_arg_callback, _arg_question) }
  fn r#noticeThrough(&self, _arg_callback: &binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>, _arg_number: i32) -> binder::Result<()> { self.0.r#noticeThrough(_arg_callback, _arg_number) }
  fn r#makeCallback(&self, _arg_offset: i32) -> binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>> { self.0.r#makeCallback(_arg_offset) }
  fn r#secret(&self) -> binder::Result<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_5_ITest_7_ISecret>> { self.0.r#secret() }
  fn r#fail(&self, _arg_exception: i32, _arg_message: &str) -> binder::Result<()> { self.0.r#fail(_arg_exception, _arg_message) }
  fn r#failSpecific(&self, _arg_error: i32, _arg_message: &str) -> binder::Result<()> { self.0.r#failSpecific(_arg_error, _arg_message) }
  fn r#failStatus(&self, _arg_status: i32) -> binder::Result<()> { self.0.r#failStatus(_arg_status) }
  fn r#callingIdentity(&self, _arg_pidAndUid: &mut Vec<i32>) -> binder::Result<()> { self.0.r#callingIdentity(_arg_pidAndUid) }
  fn r#add(&self, _arg_number: i32) -> binder::Result<()> { self.0.r#add(_arg_number) }
  fn r#added(&self) -> binder::Result<Vec<i32>> { self.0.r#added() }
}
fn on_transact(_aidl_service: &dyn ITest, _aidl_code: binder::binder_impl::TransactionCode, _aidl_data: &binder::binder_impl::BorrowedParcel<'_>, _aidl_reply: &mut binder::binder_impl::BorrowedParcel<'_>) -> std::result::Result<(), binder::StatusCode> {
  match _aidl_code {
    transactions::r#repeatBoolean => {
      let _arg_value: bool = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#repeatBoolean(_arg_value);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#repeatByte => {
      let _arg_value: i8 = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#repeatByte(_arg_value);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#repeatChar => {
      let _arg_value: u16 = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#repeatChar(_arg_value);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#repeatInt => {
      let _arg_value: i32 = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#repeatInt(_arg_value);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#repeatLong => {
      let _arg_value: i64 = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#repeatLong(_arg_value);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#repeatFloat => {
      let _arg_value: f32 = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#repeatFloat(_arg_value);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#repeatDouble => {
      let _arg_value: f64 = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#repeatDouble(_arg_value);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#repeatString => {
      let _arg_value: String = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#repeatString(&_arg_value);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#repeatUtf8 => {
      let _arg_value: String = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#repeatUtf8(&_arg_value);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#repeatByteEnum => {
      let _arg_value: crate::mangled::_9_anybinder_4_test_8_ByteEnum = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#repeatByteEnum(_arg_value);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#repeatIntEnum => {
      let _arg_value: crate::mangled::_9_anybinder_4_test_7_IntEnum = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#repeatIntEnum(_arg_value);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#repeatLongEnum => {
      let _arg_value: crate::mangled::_9_anybinder_4_test_8_LongEnum = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#repeatLongEnum(_arg_value);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#reverseBoolean => {
      let _arg_value: Vec<bool> = _aidl_data.read()?;
      let mut _arg_copy: Vec<bool> = Default::default();
      _aidl_data.resize_out_vec(&mut _arg_copy)?;
      let _aidl_return = _aidl_service.r#reverseBoolean(&_arg_value, &mut _arg_copy);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
          _aidl_reply.write(&_arg_copy)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#reverseByte => {
      let _arg_value: Vec<u8> = _aidl_data.read()?;
      let mut _arg_copy: Vec<u8> = Default::default();
      _aidl_data.resize_out_vec(&mut _arg_copy)?;
      let _aidl_return = _aidl_service.r#reverseByte(&_arg_value, &mut _arg_copy);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
          _aidl_reply.write(&_arg_copy)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#reverseChar => {
      let _arg_value: Vec<u16> = _aidl_data.read()?;
      let mut _arg_copy: Vec<u16> = Default::default();
      _aidl_data.resize_out_vec(&mut _arg_copy)?;
      let _aidl_return = _aidl_service.r#reverseChar(&_arg_value, &mut _arg_copy);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
          _aidl_reply.write(&_arg_copy)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#reverseInt => {
      let _arg_value: Vec<i32> = _aidl_data.read()?;
      let mut _arg_copy: Vec<i32> = Default::default();
      _aidl_data.resize_out_vec(&mut _arg_copy)?;
      let _aidl_return = _aidl_service.r#reverseInt(&_arg_value, &mut _arg_copy);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
          _aidl_reply.write(&_arg_copy)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#reverseLong => {
      let _arg_value: Vec<i64> = _aidl_data.read()?;
      let mut _arg_copy: Vec<i64> = Default::default();
      _aidl_data.resize_out_vec(&mut _arg_copy)?;
      let _aidl_return = _aidl_service.r#reverseLong(&_arg_value, &mut _arg_copy);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
          _aidl_reply.write(&_arg_copy)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#reverseFloat => {
      let _arg_value: Vec<f32> = _aidl_data.read()?;
      let mut _arg_copy: Vec<f32> = Default::default();
      _aidl_data.resize_out_vec(&mut _arg_copy)?;
      let _aidl_return = _aidl_service.r#reverseFloat(&_arg_value, &mut _arg_copy);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
          _aidl_reply.write(&_arg_copy)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#reverseDouble => {
      let _arg_value: Vec<f64> = _aidl_data.read()?;
      let mut _arg_copy: Vec<f64> = Default::default();
      _aidl_data.resize_out_vec(&mut _arg_copy)?;
      let _aidl_return = _aidl_service.r#reverseDouble(&_arg_value, &mut _arg_copy);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
          _aidl_reply.write(&_arg_copy)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#reverseString => {
      let _arg_value: Vec<String> = _aidl_data.read()?;
      let mut _arg_copy: Vec<String> = Default::default();
      _aidl_data.resize_out_vec(&mut _arg_copy)?;
      let _aidl_return = _aidl_service.r#reverseString(&_arg_value, &mut _arg_copy);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
          _aidl_reply.write(&_arg_copy)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#reverseByteEnum => {
      let _arg_value: Vec<crate::mangled::_9_anybinder_4_test_8_ByteEnum> = _aidl_data.read()?;
      let mut _arg_copy: Vec<crate::mangled::_9_anybinder_4_test_8_ByteEnum> = Default::default();
      _aidl_data.resize_out_vec(&mut _arg_copy)?;
      let _aidl_return = _aidl_service.r#reverseByteEnum(&_arg_value, &mut _arg_copy);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
          _aidl_reply.write(&_arg_copy)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#reverseIntEnum => {
      let _arg_value: Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum> = _aidl_data.read()?;
      let mut _arg_copy: Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum> = Default::default();
      _aidl_data.resize_out_vec(&mut _arg_copy)?;
      let _aidl_return = _aidl_service.r#reverseIntEnum(&_arg_value, &mut _arg_copy);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
          _aidl_reply.write(&_arg_copy)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#reverseLongEnum => {
      let _arg_value: Vec<crate::mangled::_9_anybinder_4_test_8_LongEnum> = _aidl_data.read()?;
      let mut _arg_copy: Vec<crate::mangled::_9_anybinder_4_test_8_LongEnum> = Default::default();
      _aidl_data.resize_out_vec(&mut _arg_copy)?;
      let _aidl_return = _aidl_service.r#reverseLongEnum(&_arg_value, &mut _arg_copy);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
          _aidl_reply.write(&_arg_copy)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#reverseList => {
      let _arg_value: Vec<String> = _aidl_data.read()?;
      let mut _arg_copy: Vec<String> = Default::default();
      let _aidl_return = _aidl_service.r#reverseList(&_arg_value, &mut _arg_copy);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
          _aidl_reply.write(&_arg_copy)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#reversePoints => {
      let _arg_value: Vec<crate::mangled::_9_anybinder_4_test_5_Point> = _aidl_data.read()?;
      let mut _arg_copy: Vec<crate::mangled::_9_anybinder_4_test_5_Point> = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#reversePoints(&_arg_value, &mut _arg_copy);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
          _aidl_reply.write(&_arg_copy)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#maybeString => {
      let _arg_value: Option<String> = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#maybeString(_arg_value.as_deref());
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#maybeList => {
      let _arg_value: Option<Vec<Option<String>>> = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#maybeList(_arg_value.as_deref());
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#maybeInts => {
      let _arg_value: Option<Vec<i32>> = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#maybeInts(_arg_value.as_deref());
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#maybeBytes => {
      let _arg_value: Option<Vec<u8>> = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#maybeBytes(_arg_value.as_deref());
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#maybeBooleans => {
      let _arg_value: Option<Vec<bool>> = _aidl_data.read()?;
      let mut _arg_copy: Option<Vec<bool>> = Default::default();
      _aidl_data.resize_nullable_out_vec(&mut _arg_copy)?;
      let _aidl_return = _aidl_service.r#maybeBooleans(_arg_value.as_deref(), &mut _arg_copy);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
          _aidl_reply.write(&_arg_copy)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#maybeEnums => {
      let _arg_value: Option<Vec<crate::mangled::_9_anybinder_4_test_7_IntEnum>> = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#maybeEnums(_arg_value.as_deref());
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#maybeStrings => {
      let _arg_value: Option<Vec<Option<String>>> = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#maybeStrings(_arg_value.as_deref());
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#maybePoint => {
      let _arg_value: Option<crate::mangled::_9_anybinder_4_test_5_Point> = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#maybePoint(_arg_value.as_ref());
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#maybePoints => {
      let _arg_value: Option<Vec<Option<crate::mangled::_9_anybinder_4_test_5_Point>>> = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#maybePoints(_arg_value.as_deref());
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#maybeShape => {
      let _arg_value: Option<crate::mangled::_9_anybinder_4_test_5_Shape> = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#maybeShape(_arg_value.as_ref());
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#maybeBinder => {
      let _arg_value: Option<binder::SpIBinder> = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#maybeBinder(_arg_value.as_ref());
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#maybeCallback => {
      let _arg_value: Option<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>> = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#maybeCallback(_arg_value.as_ref());
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#maybeFile => {
      let _arg_value: Option<binder::ParcelFileDescriptor> = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#maybeFile(_arg_value.as_ref());
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#maybeNode => {
      let _arg_value: Option<crate::mangled::_9_anybinder_4_test_4_Node> = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#maybeNode(_arg_value.as_ref());
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#repeatFixed => {
      let _arg_value: [i32; 3] = _aidl_data.read()?;
      let mut _arg_copy: [i32; 3] = Default::default();
      let _aidl_return = _aidl_service.r#repeatFixed(&_arg_value, &mut _arg_copy);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
          _aidl_reply.write(&_arg_copy)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#repeatMatrix => {
      let _arg_value: [[i32; 3]; 2] = _aidl_data.read()?;
      let mut _arg_copy: [[i32; 3]; 2] = Default::default();
      let _aidl_return = _aidl_service.r#repeatMatrix(&_arg_value, &mut _arg_copy);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
          _aidl_reply.write(&_arg_copy)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#repeatFixedPoints => {
      let _arg_value: [crate::mangled::_9_anybinder_4_test_5_Point; 2] = _aidl_data.read()?;
      let mut _arg_copy: [crate::mangled::_9_anybinder_4_test_5_Point; 2] = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#repeatFixedPoints(&_arg_value, &mut _arg_copy);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
          _aidl_reply.write(&_arg_copy)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#repeatFixedBinders => {
      let _arg_value: Option<[Option<binder::SpIBinder>; 2]> = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#repeatFixedBinders(_arg_value.as_ref());
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#repeatEverything => {
      let _arg_value: crate::mangled::_9_anybinder_4_test_10_Everything = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#repeatEverything(&_arg_value);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#fillEverything => {
      let mut _arg_value: crate::mangled::_9_anybinder_4_test_10_Everything = Default::default();
      let _aidl_return = _aidl_service.r#fillEverything(&mut _arg_value);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(&_arg_value)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#changeEverything => {
      let mut _arg_value: crate::mangled::_9_anybinder_4_test_10_Everything = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#changeEverything(&mut _arg_value);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(&_arg_value)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#repeatShape => {
      let _arg_value: crate::mangled::_9_anybinder_4_test_5_Shape = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#repeatShape(&_arg_value);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#repeatTree => {
      let _arg_value: crate::mangled::_9_anybinder_4_test_4_Tree = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#repeatTree(&_arg_value);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#repeatBinder => {
      let _arg_value: binder::SpIBinder = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#repeatBinder(&_arg_value);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#repeatBinders => {
      let _arg_value: Vec<binder::SpIBinder> = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#repeatBinders(&_arg_value);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#repeatFile => {
      let _arg_value: binder::ParcelFileDescriptor = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#repeatFile(&_arg_value);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#reverseFiles => {
      let _arg_value: Vec<binder::ParcelFileDescriptor> = _aidl_data.read()?;
      let mut _arg_copy: Vec<Option<binder::ParcelFileDescriptor>> = Default::default();
      _aidl_data.resize_out_vec(&mut _arg_copy)?;
      let _aidl_return = _aidl_service.r#reverseFiles(&_arg_value, &mut _arg_copy);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
          if _arg_copy.iter().any(Option::is_none) { return Err(binder::StatusCode::UNEXPECTED_NULL); }
          _aidl_reply.write(&_arg_copy)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#repeatCallback => {
      let _arg_value: binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback> = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#repeatCallback(&_arg_value);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#repeatCallbacks => {
      let _arg_value: Vec<binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback>> = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#repeatCallbacks(&_arg_value);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#askThrough => {
      let _arg_callback: binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback> = _aidl_data.read()?;
      let _arg_question: i32 = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#askThrough(&_arg_callback, _arg_question);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#noticeThrough => {
      let _arg_callback: binder::Strong<dyn crate::mangled::_9_anybinder_4_test_9_ICallback> = _aidl_data.read()?;
      let _arg_number: i32 = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#noticeThrough(&_arg_callback, _arg_number);
      Ok(())
    }
    transactions::r#makeCallback => {
      let _arg_offset: i32 = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#makeCallback(_arg_offset);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#secret => {
      let _aidl_return = _aidl_service.r#secret();
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#fail => {
      let _arg_exception: i32 = _aidl_data.read()?;
      let _arg_message: String = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#fail(_arg_exception, &_arg_message);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#failSpecific => {
      let _arg_error: i32 = _aidl_data.read()?;
      let _arg_message: String = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#failSpecific(_arg_error, &_arg_message);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#failStatus => {
      let _arg_status: i32 = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#failStatus(_arg_status);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#callingIdentity => {
      let mut _arg_pidAndUid: Vec<i32> = Default::default();
      _aidl_data.resize_out_vec(&mut _arg_pidAndUid)?;
      let _aidl_return = _aidl_service.r#callingIdentity(&mut _arg_pidAndUid);
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(&_arg_pidAndUid)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    transactions::r#add => {
      let _arg_number: i32 = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#add(_arg_number);
      Ok(())
    }
    transactions::r#added => {
      let _aidl_return = _aidl_service.r#added();
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    _ => Err(binder::StatusCode::UNKNOWN_TRANSACTION)
  }
}
pub mod r#ISecret {
  #![allow(non_upper_case_globals)]
  #![allow(non_snake_case)]
  #[allow(unused_imports)] use binder::binder_impl::IBinderInternal;
  use binder::declare_binder_interface;
  declare_binder_interface! {
    ISecret["anybinder.test.ITest.ISecret"] {
      native: BnSecret(on_transact),
      proxy: BpSecret {
      },
      async: ISecretAsync,
    }
  }
  pub trait ISecret: binder::Interface + Send {
    fn get_descriptor() -> &'static str where Self: Sized { "anybinder.test.ITest.ISecret" }
    fn r#whisper(&self, _arg_word: &str) -> binder::Result<String>;
    fn r#forget(&self) -> binder::Result<()>;
    fn getDefaultImpl() -> ISecretDefaultRef where Self: Sized {
      DEFAULT_IMPL.lock().unwrap().clone()
    }
    fn setDefaultImpl(d: ISecretDefaultRef) -> ISecretDefaultRef where Self: Sized {
      std::mem::replace(&mut *DEFAULT_IMPL.lock().unwrap(), d)
    }
  }
  pub trait ISecretAsync<P>: binder::Interface + Send {
    fn get_descriptor() -> &'static str where Self: Sized { "anybinder.test.ITest.ISecret" }
    fn r#whisper<'a>(&'a self, _arg_word: &'a str) -> binder::BoxFuture<'a, binder::Result<String>>;
    fn r#forget(&self) -> std::future::Ready<binder::Result<()>>;
  }
  #[::async_trait::async_trait]
  pub trait ISecretAsyncServer: binder::Interface + Send {
    fn get_descriptor() -> &'static str where Self: Sized { "anybinder.test.ITest.ISecret" }
    async fn r#whisper(&self, _arg_word: &str) -> binder::Result<String>;
    async fn r#forget(&self) -> binder::Result<()>;
  }
  impl BnSecret {
    /// Create a new async binder service.
    pub fn new_async_binder<T, R>(inner: T, rt: R, features: binder::BinderFeatures) -> binder::Strong<dyn ISecret>
    where
      T: ISecretAsyncServer + binder::Interface + Send + Sync + 'static,
      R: binder::binder_impl::BinderAsyncRuntime + Send + Sync + 'static,
    {
      struct Wrapper<T, R> {
        _inner: T,
        _rt: R,
      }
      impl<T, R> binder::Interface for Wrapper<T, R> where T: binder::Interface, R: Send + Sync + 'static {
        fn as_binder(&self) -> binder::SpIBinder { self._inner.as_binder() }
        fn dump(&self, _writer: &mut dyn std::io::Write, _args: &[&std::ffi::CStr]) -> std::result::Result<(), binder::StatusCode> { self._inner.dump(_writer, _args) }
      }
      impl<T, R> ISecret for Wrapper<T, R>
      where
        T: ISecretAsyncServer + Send + Sync + 'static,
        R: binder::binder_impl::BinderAsyncRuntime + Send + Sync + 'static,
      {
        fn r#whisper(&self, _arg_word: &str) -> binder::Result<String> {
          self._rt.block_on(self._inner.r#whisper(_arg_word))
        }
        fn r#forget(&self) -> binder::Result<()> {
          self._rt.block_on(self._inner.r#forget())
        }
      }
      let wrapped = Wrapper { _inner: inner, _rt: rt };
      Self::new_binder(wrapped, features)
    }
  }
  pub trait ISecretDefault: Send + Sync {
    fn r#whisper(&self, _arg_word: &str) -> binder::Result<String> {
      Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
    }
    fn r#forget(&self) -> binder::Result<()> {
      Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
    }
  }
  pub mod transactions {
    pub const r#whisper: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 0;
    pub const r#forget: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 1;
  }
  pub type ISecretDefaultRef = Option<std::sync::Arc<dyn ISecretDefault>>;
  static DEFAULT_IMPL: std::sync::Mutex<ISecretDefaultRef> = std::sync::Mutex::new(None);
  impl BpSecret {
    fn build_parcel_whisper(&self, _arg_word: &str) -> binder::Result<binder::binder_impl::Parcel> {
      let mut aidl_data = self.binder.prepare_transact()?;
      aidl_data.mark_sensitive();
      aidl_data.write(_arg_word)?;
      Ok(aidl_data)
    }
    fn read_response_whisper(&self, _arg_word: &str, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<String> {
      if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
        if let Some(_aidl_default_impl) = <Self as ISecret>::getDefaultImpl() {
          return _aidl_default_impl.r#whisper(_arg_word);
        }
      }
      let _aidl_reply = _aidl_reply?;
      let _aidl_status: binder::Status = _aidl_reply.read()?;
      if !_aidl_status.is_ok() { return Err(_aidl_status); }
      let _aidl_return: String = _aidl_reply.read()?;
      Ok(_aidl_return)
    }
    fn build_parcel_forget(&self) -> binder::Result<binder::binder_impl::Parcel> {
      let mut aidl_data = self.binder.prepare_transact()?;
      aidl_data.mark_sensitive();
      Ok(aidl_data)
    }
    fn read_response_forget(&self, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<()> {
      if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
        if let Some(_aidl_default_impl) = <Self as ISecret>::getDefaultImpl() {
          return _aidl_default_impl.r#forget();
        }
      }
      let _aidl_reply = _aidl_reply?;
      Ok(())
    }
  }
  impl ISecret for BpSecret {
    fn r#whisper(&self, _arg_word: &str) -> binder::Result<String> {
      let _aidl_data = self.build_parcel_whisper(_arg_word)?;
      let _aidl_reply = self.binder.submit_transact(transactions::r#whisper, _aidl_data, binder::binder_impl::FLAG_CLEAR_BUF | binder::binder_impl::FLAG_PRIVATE_LOCAL);
      self.read_response_whisper(_arg_word, _aidl_reply)
    }
    fn r#forget(&self) -> binder::Result<()> {
      let _aidl_data = self.build_parcel_forget()?;
      let _aidl_reply = self.binder.submit_transact(transactions::r#forget, _aidl_data, binder::binder_impl::FLAG_ONEWAY | binder::binder_impl::FLAG_CLEAR_BUF | binder::binder_impl::FLAG_PRIVATE_LOCAL);
      self.read_response_forget(_aidl_reply)
    }
  }
  impl<P: binder::BinderAsyncPool> ISecretAsync<P> for BpSecret {
    fn r#whisper<'a>(&'a self, _arg_word: &'a str) -> binder::BoxFuture<'a, binder::Result<String>> {
      let _aidl_data = match self.build_parcel_whisper(_arg_word) {
        Ok(_aidl_data) => _aidl_data,
        Err(err) => return Box::pin(std::future::ready(Err(err))),
      };
      let binder = self.binder.clone();
      P::spawn(
        move || binder.submit_transact(transactions::r#whisper, _aidl_data, binder::binder_impl::FLAG_CLEAR_BUF | binder::binder_impl::FLAG_PRIVATE_LOCAL),
        move |_aidl_reply| async move {
          self.read_response_whisper(_arg_word, _aidl_reply)
        }
      )
    }
    fn r#forget(&self) -> std::future::Ready<binder::Result<()>> {
      let _aidl_data = match self.build_parcel_forget() {
        Ok(_aidl_data) => _aidl_data,
        Err(err) => return std::future::ready(Err(err)),
      };
      let _aidl_reply = self.binder.submit_transact(transactions::r#forget, _aidl_data, binder::binder_impl::FLAG_ONEWAY | binder::binder_impl::FLAG_CLEAR_BUF | binder::binder_impl::FLAG_PRIVATE_LOCAL);
      std::future::ready(self.read_response_forget(_aidl_reply))
    }
  }
  impl ISecret for binder::binder_impl::Binder<BnSecret> {
    fn r#whisper(&self, _arg_word: &str) -> binder::Result<String> { self.0.r#whisper(_arg_word) }
    fn r#forget(&self) -> binder::Result<()> { self.0.r#forget() }
  }
  fn on_transact(_aidl_service: &dyn ISecret, _aidl_code: binder::binder_impl::TransactionCode, _aidl_data: &binder::binder_impl::BorrowedParcel<'_>, _aidl_reply: &mut binder::binder_impl::BorrowedParcel<'_>) -> std::result::Result<(), binder::StatusCode> {
    match _aidl_code {
      transactions::r#whisper => {
        let _arg_word: String = _aidl_data.read()?;
        let _aidl_return = _aidl_service.r#whisper(&_arg_word);
        match &_aidl_return {
          Ok(_aidl_return) => {
            _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
            _aidl_reply.write(_aidl_return)?;
          }
          Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
        }
        Ok(())
      }
      transactions::r#forget => {
        let _aidl_return = _aidl_service.r#forget();
        Ok(())
      }
      _ => Err(binder::StatusCode::UNKNOWN_TRANSACTION)
    }
  }
}
pub(crate) mod mangled {
 pub use super::r#ITest as _9_anybinder_4_test_5_ITest;
 pub use super::r#ISecret::r#ISecret as _9_anybinder_4_test_5_ITest_7_ISecret;
}
