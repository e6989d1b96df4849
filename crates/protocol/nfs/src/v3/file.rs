//! Content of files: READLINK, READ, WRITE, COMMIT.

use xdr::{Opaque, Problem, Reader, Writer, Xdr, XdrError, types};

use super::{Attributes, Filehandle, Path, Verifier, WccData};

types! {
    /// How durable a write has to be, or is: `stable_how` (§3.3.7).
    enum Stable {
        /// Perhaps only in memory.
        Unstable = 0,
        /// Data and what is needed to read it.
        DataSync = 1,
        /// Data and all attributes.
        FileSync = 2,
    }

    /// `READLINK3resok` (§3.3.5).
    struct ReadLinkOk {
        /// Attributes of the link.
        attributes: Option<Attributes>,
        /// Target.
        target: Path,
    }

    /// `READ3args` (§3.3.6).
    struct ReadArguments {
        /// File.
        file: Filehandle,
        /// First byte.
        offset_bytes: u64,
        /// Length.
        count_bytes: u32,
    }

    /// `READ3resok` (§3.3.6).
    struct ReadOk {
        /// Attributes of the file.
        attributes: Option<Attributes>,
        /// Number of bytes read.
        count_bytes: u32,
        /// Whether the data reaches the end of the file.
        eof: bool,
        /// Data.
        data: Opaque<{ u32::MAX }>,
    }

    /// `WRITE3resok` (§3.3.7).
    struct WriteOk {
        /// Attributes of the file around the write.
        wcc: WccData,
        /// Number of bytes written.
        count_bytes: u32,
        /// How durable they are.
        committed: Stable,
        /// Changes when unstable data may have been lost.
        verifier: Verifier,
    }

    /// `COMMIT3args` (§3.3.21).
    struct CommitArguments {
        /// File.
        file: Filehandle,
        /// First byte.
        offset_bytes: u64,
        /// Length; 0 stands for all up to the end.
        count_bytes: u32,
    }

    /// `COMMIT3resok` (§3.3.21).
    struct CommitOk {
        /// Attributes of the file around the operation.
        wcc: WccData,
        /// To be compared with the verifier of writes.
        verifier: Verifier,
    }
}

/// `WRITE3args` (§3.3.7). The count on the wire is the length of the data; another one is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteArguments {
    /// File.
    pub file: Filehandle,
    /// First byte.
    pub offset_bytes: u64,
    /// How durable the write has to be.
    pub stable: Stable,
    /// Data.
    pub data: Opaque<{ u32::MAX }>,
}

impl Xdr for WriteArguments {
    const MIN_BYTES: usize = Filehandle::MIN_BYTES + 8 + 4 + Stable::MIN_BYTES + 4;

    fn encode(&self, writer: &mut Writer) {
        self.file.encode(writer);
        writer.u64(self.offset_bytes);
        writer.count(self.data.len());
        self.stable.encode(writer);
        self.data.encode(writer);
    }

    fn decode(reader: &mut Reader) -> Result<Self, XdrError> {
        let file = Filehandle::decode(reader).map_err(|error| error.within("WriteArguments.file"))?;
        let offset_bytes = reader.u64().map_err(|error| error.within("WriteArguments.offset_bytes"))?;
        let at = reader.position_bytes();
        let found = u64::from(reader.u32().map_err(|error| error.within("WriteArguments.count_bytes"))?);
        let stable = Stable::decode(reader).map_err(|error| error.within("WriteArguments.stable"))?;
        let data = Opaque::decode(reader).map_err(|error| error.within("WriteArguments.data"))?;
        let wanted = data.len() as u64;
        if found != wanted {
            let problem = Problem::Inconsistent { found, wanted };
            return Err(XdrError::new(at, problem).within("WriteArguments.count_bytes"));
        }
        Ok(Self { file, offset_bytes, stable, data })
    }
}

#[cfg(any(test, feature = "testing"))]
impl xdr::Sample for WriteArguments {
    fn sample(random: &xdr::Random) -> Self {
        Self {
            file: Filehandle::sample(random),
            offset_bytes: u64::sample(random),
            stable: Stable::sample(random),
            data: Opaque::sample(random),
        }
    }
}
