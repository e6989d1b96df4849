//! Input as a list of steps: fixed-width numbers and short strings, read from the front. Missing
//! bytes read as zeros, so that every input is valid. [`Writer`] creates the seeds.

/// Reader of an input.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub fn new(input: &'a [u8]) -> Self {
        Self(input)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        let have = N.min(self.0.len());
        let (front, rest) = self.0.split_at(have);
        array[..have].copy_from_slice(front);
        self.0 = rest;
        array
    }

    pub fn u8(&mut self) -> u8 {
        let [byte] = self.array();
        byte
    }

    pub fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.array())
    }

    pub fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.array())
    }

    pub fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.array())
    }

    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        self.array()
    }

    /// Reads up to `length` bytes.
    pub fn take(&mut self, length: usize) -> &'a [u8] {
        let (front, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        front
    }

    /// Reads a string with a one-byte length before it.
    pub fn short(&mut self) -> &'a [u8] {
        let length = usize::from(self.u8());
        self.take(length)
    }

    /// Reads a string with a two-byte length before it.
    pub fn long(&mut self) -> &'a [u8] {
        let length = usize::from(self.u16());
        self.take(length)
    }

    /// Returns the rest of the input.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// Chooses one of `choices`, which must not be empty.
    pub fn choose<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::from(self.u8()) % choices.len()]
    }
}

/// Writes an input.
#[derive(Clone, Default)]
pub(crate) struct Writer(pub Vec<u8>);

impl Writer {
    pub fn u8(mut self, value: u8) -> Self {
        self.0.push(value);
        self
    }

    pub fn u16(mut self, value: u16) -> Self {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    pub fn u32(mut self, value: u32) -> Self {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Writes a string of at most 255 bytes.
    pub fn short(self, bytes: &[u8]) -> Self {
        self.u8(u8::try_from(bytes.len()).unwrap_or(u8::MAX)).raw(bytes)
    }

    /// Writes a string of at most 65 535 bytes.
    pub fn long(self, bytes: &[u8]) -> Self {
        self.u16(u16::try_from(bytes.len()).unwrap_or(u16::MAX)).raw(bytes)
    }
}
