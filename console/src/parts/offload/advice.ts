// Advice for each reason of the offload log.

const ADVICE: Record<string, string> = {
  "invalid-field":
    "The host sends what the standard does not allow, or a field that the array does not support. Note the versions of host and driver, and report it.",
  "bad-descriptor":
    "The host sends a descriptor that is malformed or not supported. Note the versions of host and driver, and report it.",
  "bad-length":
    "The host sends a parameter list of the wrong length. Note the versions of host and driver, and report it.",
  "over-limit": "The host ignores an announced limit. Rescan it, so that it reads the limits again.",
  misaligned:
    "The partition or virtual disk does not begin at a multiple of 4 KiB. New ones are aligned; an old one has to be moved.",
  "below-grain": "The guest frees pieces smaller than 4 KiB. Running fstrim, or the like, gathers them.",
  "out-of-range": "The host has an old size of the volume. Rescan it after a volume grew or was rolled back.",
  "not-granted": "Grant both source and destination to the host that copies.",
  "reserved-by-another":
    "Another initiator holds a reservation: see Reservations of the volume. One of a host that is gone has to be cleared from a host.",
  "write-protected": "The volume is write protected. See who set that in its events.",
  "medium-not-present": "A host has ejected the medium. It has to load it again.",
  sanitizing: "The volume is being sanitized, or that has failed. Activity shows the job.",
  "not-accessible": "The portal's group does not permit it in its present state. See Hosts, Portals.",
  "list-id-in-use": "Two programs of the host copy with one list identifier. Harmless: the host repeats it.",
  "no-space": "The pool is full. Space shows what frees space.",
  "volume-gone": "The volume was deleted. Rescan the host.",
  "invalid-token": "The token is too old, or of another host. The host copies the data itself instead.",
  aborted: "The host gave the command up. Look at latency at that time, and at the host's timeouts.",
  cleared: "The volume was rolled back or sanitized while the command was in progress.",
  quota: "The share has used its quota. Raise it, or free space in the share.",
  "cross-share":
    "Source and destination are in different shares. Copy within one share, or let the host move the data.",
  "read-only": "The share, or this host's access to it, is read-only.",
  "permission-denied":
    "The user has no permission for the file. See its owner and mode, and squash in the share's access.",
  "no-space-for-reservation": "The pool cannot promise that much. Space shows what frees space.",
  "media-error": "Stored data could not be read. Scrub the pool, and see the alerts.",
  "pool-stopped": "The pool has stopped. See the alerts.",
};

/** Advice; for a reason without any, the place to look. */
export const advice = (code: string): string =>
  ADVICE[code] ?? "The examples say what the host asked for and why the array did not do it.";
