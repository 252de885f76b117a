//! Turns the [switch](RingSwitch) of a program that has loaded the ring's library.

use std::io;
use std::path::Path;

use binder_ring::RingSwitch;

use crate::client_memory::ClientMemory;
use crate::proc_files;

const PAGE_BYTES: usize = 4096;

/// The library is shorter. What else a program may map of its file is not looked at.
const MAX_BYTES: u64 = 1 << 20;

/// A switch in the memory of a program.
#[derive(Debug)]
pub struct ProgramSwitch {
    memory: ClientMemory,
    address: u64,
}

impl ProgramSwitch {
    /// Finds that of process `tgid`, whose thread `tid` waits for us. None if it has not loaded the library, which this
    /// process sees at `library`.
    ///
    /// # Errors
    ///
    /// As for the memory of a client.
    pub fn find(library: &Path, tgid: u32, tid: u32) -> io::Result<Option<Self>> {
        let library = proc_files::id_at(library)?;
        let Some((start, len)) = proc_files::find_mapping(tgid, tid, library)? else {
            return Ok(None);
        };
        let mut memory = ClientMemory::open(tgid)?;
        memory.use_thread(tid);
        let mut bytes = vec![0; usize::try_from(len.min(MAX_BYTES)).unwrap_or(0)];
        for (page, place) in bytes.chunks_mut(PAGE_BYTES).enumerate() {
            // Between its parts there may be pages that cannot be read.
            let _ = memory.read(start + (page * PAGE_BYTES) as u64, place);
        }
        let at = RingSwitch::find(&bytes);
        Ok(at.map(|at| Self { memory, address: start + at as u64 }))
    }

    /// From here on the program makes ioctls.
    ///
    /// # Errors
    ///
    /// As for the memory of a client.
    pub fn turn_off(mut self) -> io::Result<()> {
        self.memory.write(self.address, &RingSwitch::OFF).map_err(io::Error::other)
    }
}
