//! Logical unit: a [`Unit`] with SCSI's identity, mode parameters, medium state and task set.

use crate::nexus_id::NexusId;
use crate::sense::Fault;
use crate::task_set::TaskSet;
use block::{BlockDevice, Extent, VolumeId};
use scsi::inquiry::{self, Association, CodeSet, DesignatorType};
use scsi::mode::{self, CachingPage, ControlPage, InformationalExceptionsPage, PageControl, ThresholdDescriptor};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use unit::Unit;
use zerocopy::IntoBytes;

/// T10 VENDOR IDENTIFICATION of every logical unit.
pub(crate) const VENDOR: &str = "WINDLASS";
/// PRODUCT IDENTIFICATION of every logical unit. Hosts use third-party copy only between logical
/// units whose values are equal.
pub(crate) const PRODUCT: &str = "VOLUME";

/// Configuration of a new logical unit.
#[derive(Debug)]
pub struct LogicalUnitConfig<D> {
    /// Unit of the volume. Its [`block::VolumeId`] names the logical unit in every call.
    pub unit: Rc<Unit<D>>,
    /// NAA designator (type 6), constant for the life of the volume and never reused.
    pub naa: [u8; 16],
    /// Unit serial number, printable ASCII; the first 8 characters should be unique.
    pub serial: String,
    /// Geometry and medium.
    pub profile: Profile,
}

/// Options of a logical unit where initiators differ in what they need. The default suits ESXi,
/// Linux and QEMU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// RMB: the medium can be ejected and loaded with START STOP UNIT.
    pub removable: bool,
    /// LOGICAL BLOCKS PER PHYSICAL BLOCK EXPONENT: 0 announces 512-byte physical blocks, 3 announces 4 KiB ("512e").
    /// At most 15.
    pub physical_block_exponent: u8,
    /// WSNZ = 0: WRITE SAME with a NUMBER OF LOGICAL BLOCKS of 0 means to the end of the medium. Otherwise such a
    /// command is refused.
    pub write_same_to_end: bool,
}

/// Logical unit, shared by every I_T nexus that sees it. State shared with other protocols is in
/// its [`Unit`].
#[derive(Debug)]
pub(crate) struct LogicalUnit<D> {
    unit: Rc<Unit<D>>,
    pub naa: [u8; 16],
    pub serial: String,
    pub profile: Profile,
    software_write_protect: Cell<bool>,
    loaded: Cell<bool>,
    prevents: RefCell<BTreeSet<NexusId>>,
    /// Order of commands by task attribute.
    pub task_set: TaskSet,
    /// SITUA bit of the logical block provisioning mode page.
    single_initiator_threshold: Cell<bool>,
}

impl<D> LogicalUnit<D> {
    /// State that the logical unit shares with other protocols.
    pub fn unit(&self) -> &Unit<D> {
        &self.unit
    }

    /// Volume whose blocks the logical unit has.
    pub fn volume(&self) -> VolumeId {
        self.unit.volume()
    }

    /// Counts a conflict with the present reservation and returns its fault.
    pub fn conflict(&self) -> Fault {
        self.unit.statistics.count_conflict();
        Fault::ReservationConflict(self.unit.reservations.holder(self.volume()).map(Box::new))
    }

    /// Refuses to go on with a command that began under an older content generation.
    pub fn check_content(&self, generation: u64) -> Result<(), Fault> {
        if self.unit.content_generation() == generation {
            return Ok(());
        }
        Err(Fault::Cleared)
    }
}

impl<D: BlockDevice> LogicalUnit<D> {
    pub fn new(config: LogicalUnitConfig<D>) -> Self {
        Self {
            unit: config.unit,
            naa: config.naa,
            serial: config.serial,
            profile: config.profile,
            software_write_protect: Cell::new(false),
            loaded: Cell::new(true),
            prevents: RefCell::default(),
            task_set: TaskSet::default(),
            single_initiator_threshold: Cell::new(false),
        }
    }

    /// Returns the extent, if it lies inside the logical unit.
    pub fn checked_range(&self, lba: u64, count: u64) -> Result<Extent, Fault> {
        let device_blocks = self.unit.block_count();
        let extent = Extent::new(lba, count);
        match extent.end() {
            Some(end) if end <= device_blocks => Ok(extent),
            _ => Err(Fault::OutOfRange { lba, count, device_blocks }),
        }
    }

    // The medium.

    pub fn is_loaded(&self) -> bool {
        self.loaded.get()
    }

    pub fn set_loaded(&self, loaded: bool) {
        self.loaded.set(loaded);
    }

    pub fn check_present(&self) -> Result<(), Fault> {
        if !self.loaded.get() {
            return Err(Fault::MediumNotPresent);
        }
        Ok(self.unit.sanitize.check()?)
    }

    pub fn check_writable(&self) -> Result<(), Fault> {
        self.check_present()?;
        self.check_medium_writable()
    }

    /// Like [`Self::check_writable`], but ignores sanitize operations.
    pub fn check_medium_writable(&self) -> Result<(), Fault> {
        if !self.loaded.get() {
            return Err(Fault::MediumNotPresent);
        }
        if self.unit.read_only() {
            return Err(Fault::Block(block::BlockError::ReadOnly));
        }
        if self.software_write_protect.get() {
            return Err(Fault::SoftwareWriteProtected);
        }
        Ok(())
    }

    pub fn set_prevent(&self, nexus: NexusId, prevent: bool) {
        let mut prevents = self.prevents.borrow_mut();
        if prevent {
            prevents.insert(nexus);
        } else {
            prevents.remove(&nexus);
        }
    }

    pub fn is_removal_prevented(&self) -> bool {
        !self.prevents.borrow().is_empty()
    }

    // Mode parameters.

    pub fn software_write_protect(&self) -> bool {
        self.software_write_protect.get()
    }

    pub fn set_software_write_protect(&self, protect: bool) {
        self.software_write_protect.set(protect);
    }

    /// SITUA: a soft threshold is reported to one I_T nexus instead of all.
    pub fn single_initiator_threshold(&self) -> bool {
        self.single_initiator_threshold.get()
    }

    pub fn set_single_initiator_threshold(&self, single: bool) {
        self.single_initiator_threshold.set(single);
    }

    /// WP and DPOFUA, in the format of the DEVICE-SPECIFIC PARAMETER field.
    pub fn device_specific_parameter(&self) -> u8 {
        let protected = self.unit.read_only() || self.software_write_protect.get();
        mode::DEVICE_SPECIFIC_DPOFUA | if protected { mode::DEVICE_SPECIFIC_WP } else { 0 }
    }

    /// Logical block provisioning page with the administrator's thresholds; a host can change only
    /// SITUA.
    pub fn provisioning_mode_page(&self, control: PageControl, thresholds: &[ThresholdDescriptor]) -> Vec<u8> {
        let single = match control {
            PageControl::Current | PageControl::Saved => self.single_initiator_threshold.get(),
            PageControl::Changeable => true,
            PageControl::Default => false,
        };
        let mut page = mode::logical_block_provisioning_page(single, thresholds);
        if control == PageControl::Changeable
            && let Some(descriptors) = page.get_mut(mode::THRESHOLD_DESCRIPTORS_AT..)
        {
            descriptors.fill(0);
        }
        page
    }

    /// Bytes of a mode page; `None` for a page that does not exist. `Saved` values do not exist.
    pub fn mode_page(&self, page_code: u8, control: PageControl) -> Option<Vec<u8>> {
        let current = control == PageControl::Current;
        let changeable = control == PageControl::Changeable;
        match page_code {
            mode::CACHING => {
                // WCE is read-only for hosts: one host must not decide what another may lose in a
                // power failure.
                let enabled = current && self.unit.write_cache();
                Some(CachingPage::new(enabled).as_bytes().to_vec())
            }
            mode::CONTROL if changeable => Some(ControlPage::changeable().as_bytes().to_vec()),
            mode::CONTROL => Some(ControlPage::new(current && self.software_write_protect.get()).as_bytes().to_vec()),
            mode::INFORMATIONAL_EXCEPTIONS_CONTROL if changeable => {
                Some(InformationalExceptionsPage::changeable().as_bytes().to_vec())
            }
            mode::INFORMATIONAL_EXCEPTIONS_CONTROL => Some(InformationalExceptionsPage::new().as_bytes().to_vec()),
            _ => None,
        }
    }

    // Identity.

    /// T10 vendor identification designator value: vendor and serial number.
    pub fn t10_designator(&self) -> Vec<u8> {
        let mut value = inquiry::ascii_field::<8>(VENDOR).to_vec();
        value.extend_from_slice(self.serial.as_bytes());
        value
    }

    /// Whether a logical-unit designator is one that the device identification page publishes.
    pub fn has_designator(&self, code_set: CodeSet, kind: DesignatorType, value: &[u8]) -> bool {
        match (kind, code_set) {
            (DesignatorType::NAA, CodeSet::BINARY) => value == self.naa,
            (DesignatorType::T10_VENDOR_ID, CodeSet::ASCII) => value == self.t10_designator(),
            _ => false,
        }
    }

    /// Designators of the logical unit itself.
    pub fn designators(&self) -> [Vec<u8>; 2] {
        let lu = Association::LOGICAL_UNIT;
        [
            inquiry::designator(CodeSet::BINARY, lu, DesignatorType::NAA, &self.naa),
            inquiry::designator(CodeSet::ASCII, lu, DesignatorType::T10_VENDOR_ID, &self.t10_designator()),
        ]
    }

    // Reservations: RESERVE (SPC-2 §5.5.1: whole logical unit, one I_T nexus) and persistent ones.

    /// Releases the RESERVE and the prevention of removal of an I_T nexus that is lost.
    pub fn forget(&self, nexus: NexusId) {
        if self.unit.reservations.whole() == Some(nexus.client()) {
            self.unit.statistics.note_use();
            self.unit.reservations.set_whole(None);
        }
        self.prevents.borrow_mut().remove(&nexus);
    }

    /// Logical unit reset, SAM-5 §6.3.3: RESERVE, prevention of removal and mode parameters return
    /// to their defaults. Persistent reservations stay.
    pub fn reset(&self) {
        self.unit.statistics.note_use();
        self.unit.reservations.set_whole(None);
        self.prevents.borrow_mut().clear();
        self.software_write_protect.set(false);
        self.single_initiator_threshold.set(false);
    }
}
