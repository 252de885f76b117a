//! Files in calls.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};

use crate::parcel::BorrowedParcel;
use crate::serialize::{NON_NULL, NULL};
use crate::{
    Deserialize, DeserializeArray, DeserializeOption, Serialize, SerializeArray, SerializeOption,
    StatusCode,
};

/// A file descriptor that can be sent: the receiver gets one of its own for the same open file.
#[derive(Debug)]
pub struct ParcelFileDescriptor(OwnedFd);

/// No channel beside the file to tell its sender of errors. Java's may have one.
const NO_CHANNEL: i32 = 0;

impl ParcelFileDescriptor {
    /// Takes a file to be sent.
    pub fn new<F: Into<OwnedFd>>(file: F) -> Self {
        Self(file.into())
    }
}

impl AsRef<OwnedFd> for ParcelFileDescriptor {
    fn as_ref(&self) -> &OwnedFd {
        &self.0
    }
}

impl AsFd for ParcelFileDescriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for ParcelFileDescriptor {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl IntoRawFd for ParcelFileDescriptor {
    fn into_raw_fd(self) -> RawFd {
        self.0.into_raw_fd()
    }
}

impl From<ParcelFileDescriptor> for OwnedFd {
    fn from(file: ParcelFileDescriptor) -> Self {
        file.0
    }
}

/// Equal are descriptors, not files: as in Android, a file is equal to itself alone.
impl PartialEq for ParcelFileDescriptor {
    fn eq(&self, other: &Self) -> bool {
        self.as_raw_fd() == other.as_raw_fd()
    }
}

impl Eq for ParcelFileDescriptor {}

impl Serialize for ParcelFileDescriptor {
    fn serialize(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
        Self::serialize_option(Some(self), parcel)
    }
}

impl SerializeArray for ParcelFileDescriptor {}

impl SerializeOption for ParcelFileDescriptor {
    fn serialize_option(
        this: Option<&Self>,
        parcel: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        let Some(file) = this else {
            return parcel.write(&NULL);
        };
        parcel.write(&NON_NULL)?;
        parcel.write(&NO_CHANNEL)?;
        parcel.write_file(file.as_fd())
    }
}

impl Deserialize for ParcelFileDescriptor {
    type UninitType = Option<Self>;

    fn uninit() -> Self::UninitType {
        None
    }

    fn from_init(value: Self) -> Self::UninitType {
        Some(value)
    }

    fn deserialize(parcel: &BorrowedParcel<'_>) -> Result<Self, StatusCode> {
        Self::deserialize_option(parcel)?.ok_or(StatusCode::UNEXPECTED_NULL)
    }
}

impl DeserializeArray for ParcelFileDescriptor {}

impl DeserializeOption for ParcelFileDescriptor {
    fn deserialize_option(parcel: &BorrowedParcel<'_>) -> Result<Option<Self>, StatusCode> {
        if parcel.read::<i32>()? == NULL {
            return Ok(None);
        }
        let channel: i32 = parcel.read()?;
        let file = parcel.read_file()?;
        if channel != NO_CHANNEL {
            // This process does not write to it, so its other end learns that it is closed.
            drop(parcel.read_file()?);
        }
        Ok(Some(Self(file)))
    }
}
