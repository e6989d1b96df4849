//! Writing.

use super::{Draft, LIMITS};
use crate::halt::Step;
use crate::share::Share;
use vfs::{Call, FileId, Payload};

impl Share<'_> {
    pub(crate) fn write(&mut self, call: Call<'_>, file: FileId, offset_bytes: u64, data: &Payload) -> Step<Draft> {
        let mut target = self.changeable(call, file)?;
        LIMITS.check_io(data.length_bytes())?;
        let end = LIMITS.end(offset_bytes, data.length_bytes())?;
        if data.length_bytes() == 0 {
            return Ok(Draft::new(file, &target.before, target.inode));
        }
        let region = self.reach(file, &mut target.inode, end)?;
        let object = self.object();
        self.name().write(object, region.byte(offset_bytes), data.clone());
        self.complete(call, target, end)
    }
}
