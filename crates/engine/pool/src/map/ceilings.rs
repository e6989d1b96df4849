//! Ceilings of address spaces: what counts against them, and whether changes of the catalog stay below.

use crate::interface::{CatalogChange, ObjectId, PoolError};
use crate::map::Map;
use media::BLOCK_BYTES;

impl Map {
    /// Ceiling of an object in blocks.
    #[inline]
    pub(crate) fn ceiling_blocks(&self, object: ObjectId) -> Option<u64> {
        self.objects.read(object, |object| object.ceiling_bytes)?.map(|bytes| bytes / BLOCK_BYTES as u64)
    }

    /// Blocks that count against the ceiling of an address space: those that it maps, and those that its
    /// allotments promise.
    pub(crate) fn used_blocks(&self, object: ObjectId) -> u64 {
        self.objects.read(object, |object| object.mapped).unwrap_or(0) + self.allotments.promised_to(object)
    }

    /// Checks that an address space with a ceiling may use `growth` blocks more. Less is always possible.
    pub(crate) fn may_grow(&self, object: ObjectId, growth: u64) -> Result<(), PoolError> {
        let Some(ceiling) = self.ceiling_blocks(object).filter(|_| growth > 0) else { return Ok(()) };
        let available = ceiling.saturating_sub(self.used_blocks(object));
        match growth <= available {
            true => Ok(()),
            false => Err(PoolError::AboveCeiling {
                needed_bytes: growth.saturating_mul(BLOCK_BYTES as u64),
                available_bytes: available * BLOCK_BYTES as u64,
            }),
        }
    }

    /// Checks that changes of the catalog leave address spaces below their ceilings: a clone or snapshot raises
    /// the promises of its source, and a rollback replaces the content.
    pub(crate) fn catalog_stays_below_ceilings(&self, changes: &[CatalogChange]) -> Result<(), PoolError> {
        for change in changes {
            match change {
                CatalogChange::CloneObject { source, .. } if self.ceiling_blocks(*source).is_some() => {
                    let percent = self.objects.read(*source, |object| object.overwrite_percent()).unwrap_or(100);
                    self.may_grow(*source, self.promise_of_sharing_all(*source, percent))?;
                }
                CatalogChange::Rollback { id, source } if self.ceiling_blocks(*id).is_some() => {
                    let after = self.objects.read(*source, |object| object.mapped).unwrap_or(0);
                    self.may_grow(*id, after.saturating_sub(self.used_blocks(*id)))?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}
