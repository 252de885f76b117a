//! Interfaces in the shape of those that Android publishes: that they are built is most of the test.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use aidl_tests::aidl::anybinder::shapes::audio::AudioChannelLayout::{self as layouts};
use aidl_tests::aidl::anybinder::shapes::audio::AudioFormat::AudioFormat;
use aidl_tests::aidl::anybinder::shapes::audio::AudioPort::{
    AudioPort, Ext::Address::Address, Ext::Device::Device, Ext::Ext, Profile::Profile,
};
use aidl_tests::aidl::anybinder::shapes::camera::BufferStatus::BufferStatus;
use aidl_tests::aidl::anybinder::shapes::camera::ICameraDeviceCallback::{
    BpCameraDeviceCallback, ICameraDeviceCallback,
};
use aidl_tests::aidl::anybinder::shapes::camera::NotifyMsg::{
    Error::Error, NotifyMsg, Shutter::Shutter,
};
use aidl_tests::aidl::anybinder::shapes::keys::IKeyMintDevice::HardwareAuthToken::HardwareAuthToken;
use aidl_tests::aidl::anybinder::shapes::keys::KeyParameter::KeyParameter;
use aidl_tests::aidl::anybinder::shapes::keys::KeyParameterValue::{
    Algorithm::Algorithm, KeyParameterValue,
};
use aidl_tests::aidl::anybinder::shapes::keys::Tag::Tag;
use aidl_tests::aidl::anybinder::shapes::neural::IPreparedModel as neural;
use aidl_tests::aidl::anybinder::shapes::radio::{RadioConst, RadioResponseInfo};
use aidl_tests::aidl::anybinder::shapes::sensors::Event::{
    Event,
    EventPayload::{
        AdditionalInfo::{
            AdditionalInfo, AdditionalInfoPayload::AdditionalInfoPayload,
            AdditionalInfoType::AdditionalInfoType,
        },
        EventPayload,
    },
};
use aidl_tests::aidl::anybinder::shapes::sensors::ISensors::{
    BnSensors, ISensors, OperationMode::OperationMode, RateLevel::RateLevel,
    SharedMemInfo::SharedMemInfo,
};
use aidl_tests::aidl::anybinder::shapes::sensors::SensorType::SensorType;
use aidl_tests::service::copy_of;
use binder::binder_impl::Proxy;
use binder::{BinderFeatures, Interface, ParcelFileDescriptor, Status, Strong};

#[test]
fn constants_are_computed_as_java_computes_them() {
    assert_eq!(RadioConst::ALL_ONES, -1);
    assert_eq!((RadioConst::SIGN, RadioConst::LOWEST), (i32::MIN, i64::MIN));
    assert_eq!((RadioConst::UNKNOWN, RadioConst::VALUE_UNAVAILABLE_BYTE), (-1, -1));
    assert_eq!((RadioConst::BOTH, RadioConst::NAME), (true, "radio.const"));
    assert_eq!(RadioConst::MIXED, 9 ^ 44);
    assert_eq!(RadioConst::EPSILON.to_bits(), f32::EPSILON.to_bits());
    assert_eq!((layouts::LAYOUT_5POINT1, layouts::INDEX_MASK_24), (0x3f, 0xff_ffff));
    assert_eq!(Tag::ALGORITHM.0, (1 << 28) | 2);
    assert_eq!(Tag::CERTIFICATE_SERIAL.0.cast_unsigned(), (8 << 28) | 1006);
    assert_eq!(Tag::MAX.0.cast_unsigned(), (10 << 28) | 0x0fff_ffff);
    assert_eq!(SensorType::HINGE_ANGLE.0, 36);
    assert_eq!(AudioFormat::SYS_RESERVED_INVALID.0, -1);
    assert_eq!(BufferStatus::FAR.0, 1 << 62);
    let info = RadioResponseInfo::RadioResponseInfo::default();
    assert_eq!((info.r#type, info.serial, info.flags), (-1, i64::MAX, -1));
    assert_eq!(info.errors.len(), 2);
    assert_eq!(neural::Timing::Timing::default().timeOnDeviceNs, -1);
}

#[test]
fn what_is_nested_deeply_comes_through_a_parcel() {
    let mut more = AdditionalInfo { serial: 7, ..AdditionalInfo::default() };
    more.r#type = AdditionalInfoType::AINFO_INTERNAL_TEMPERATURE;
    more.payload = AdditionalInfoPayload::DataFloat(Default::default());
    let payload = EventPayload::Additional(more);
    let event = Event { timestamp: 1 << 40, payload, ..Event::default() };
    assert_eq!(copy_of(&event).unwrap(), event);

    let device = Device {
        address: Address::Mac(vec![1, 2, 3, 4, 5, 6]),
        encodedFormats: vec!["pcm".into()],
        ..Device::default()
    };
    let profiles = vec![Profile::default(); 2];
    let port = AudioPort { id: 1, profiles, ext: Ext::Device(device), ..AudioPort::default() };
    let copy = copy_of(&port).unwrap();
    assert_eq!(copy, port);
    assert_eq!(copy.profiles[1].sampleRates, [8000, 44100, 48000]);

    let mut parameters = [
        KeyParameter { tag: Tag::KEY_SIZE, value: KeyParameterValue::Integer(256) },
        KeyParameter { tag: Tag::ALGORITHM, value: KeyParameterValue::Algorithm(Algorithm::EC) },
    ];
    parameters.sort();
    assert_eq!(parameters[0].tag, Tag::ALGORITHM);
    assert_eq!(copy_of(&parameters[0]).unwrap(), parameters[0]);
    let token = HardwareAuthToken { seal: [9; 32], ..HardwareAuthToken::default() };
    assert_eq!((token.authenticatorType, copy_of(&token).unwrap().seal), (1, [9; 32]));
}

struct Sensors;

impl Interface for Sensors {}

impl ISensors for Sensors {
    fn activate(&self, _: i32, enabled: bool) -> binder::Result<()> {
        let message = Some("there are none");
        if enabled { Err(Status::new_service_specific_error_str(-22, message)) } else { Ok(()) }
    }

    fn batch(&self, _: i32, _: i64, _: i64) -> binder::Result<()> {
        Ok(())
    }

    fn configDirectReport(&self, _: i32, channel: i32, rate: RateLevel) -> binder::Result<i32> {
        Ok(channel + rate.0)
    }

    fn flush(&self, _: i32) -> binder::Result<()> {
        Ok(())
    }

    fn getSensorTypes(&self) -> binder::Result<Vec<SensorType>> {
        Ok(vec![SensorType::ACCELEROMETER, SensorType::HINGE_ANGLE])
    }

    fn injectSensorData(&self, event: &Event) -> binder::Result<()> {
        assert_eq!(event.sensorType, SensorType::MAGNETIC_FIELD);
        Ok(())
    }

    fn registerDirectChannel(&self, memory: &SharedMemInfo) -> binder::Result<i32> {
        Ok(i32::try_from(memory.handles.len()).unwrap())
    }

    fn setOperationMode(&self, _: OperationMode) -> binder::Result<()> {
        Ok(())
    }

    fn unregisterDirectChannel(&self, _: i32) -> binder::Result<()> {
        Ok(())
    }
}

#[test]
fn a_stable_interface_is_called() {
    let sensors = BnSensors::new_binder(Sensors, BinderFeatures::default());
    let proxy = Proxy::from_binder(sensors.as_binder()).unwrap();
    let proxy: aidl_tests::aidl::anybinder::shapes::sensors::ISensors::BpSensors = proxy;
    let sensors: Strong<dyn ISensors> = Strong::new(Box::new(proxy));
    assert_eq!(sensors.configDirectReport(1, 2, RateLevel::VERY_FAST), Ok(5));
    assert_eq!(sensors.activate(1, true).unwrap_err().service_specific_error(), -22);
    let types = sensors.getSensorTypes().unwrap();
    assert_eq!(types, [SensorType::ACCELEROMETER, SensorType::HINGE_ANGLE]);
    let event = Event { sensorType: SensorType::MAGNETIC_FIELD, ..Event::default() };
    sensors.injectSensorData(&event).unwrap();
    let file = || ParcelFileDescriptor::new(std::fs::File::open("/dev/null").unwrap());
    let memory = SharedMemInfo { handles: vec![file(), file()], ..SharedMemInfo::default() };
    assert_eq!(sensors.registerDirectChannel(&memory), Ok(2));
}

#[test]
fn an_interface_is_known_by_the_descriptor_that_it_says() {
    let descriptor = <BpCameraDeviceCallback as ICameraDeviceCallback>::get_descriptor();
    assert_eq!(descriptor, "android.shapes.camera.ICameraDeviceCallback");
    let shutter = Shutter { all: Some(vec![BufferStatus::ERROR]), ..Shutter::default() };
    let message = NotifyMsg::Shutter(shutter);
    assert_eq!(copy_of(&message).unwrap(), message);
    assert_eq!(NotifyMsg::default(), NotifyMsg::Error(Error::default()));
    assert_eq!(Error::default().code, BufferStatus::ERROR);
}
