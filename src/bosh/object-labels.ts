const domain = 'bosh.cloudfoundry.org/';

/** The labels of the CPI's objects that commands also read (object layout 1). */
export const objectLabels = {
  /** The purpose of the object: `vm`, `disk`, `attachment` and others. */
  kind: `${domain}kind`,
  vmId: `${domain}vm-id`,
  agentId: `${domain}agent-id`,
  /** The director's uuid. For create-env, it is in the state file. */
  directorId: `${domain}director-id`,
  diskId: `${domain}disk-id`,
  /**
   * On a disk that has never been attached and never got metadata: the process that created it may have been
   * killed.
   */
  unclaimed: `${domain}unclaimed`,
  /**
   * This label is on a replacement that update_disk made until it takes the disk's place. Until then no cid
   * names the replacement, and it may be deleted.
   */
  provisional: `${domain}provisional`,
} as const;

/** The annotations of the CPI's objects that commands also read. */
export const objectAnnotations = {
  /** The JSON of the last set_vm_metadata or set_disk_metadata call. */
  metadata: `${domain}metadata`,
  /**
   * On a VM's pod: the `vmScriptsVersion` at its creation. A pod keeps its scripts. A pod without the
   * annotation has version 1.
   */
  scriptsVersion: `${domain}scripts-version`,
  /**
   * On a VM's Secret. `done`: create_vm has made the whole VM and returns, or has returned. `abandoned`:
   * another call removes it. Absent: a create_vm is running or was killed, or the CPI that made the VM did
   * not write this annotation yet.
   */
  creation: `${domain}creation`,
  /** `true` on a claim that delete_disk deletes: this deletion is no loss of data. */
  deleting: `${domain}deleting`,
} as const;

/**
 * The version of the scripts in a VM's pod (src/cpi/vm/scripts/entry.ts, prepare-and-stop.ts). It is
 * increased with a change for which VMs should be recreated, for example one that prevents an attack.
 * `status` lists the VMs of earlier versions.
 */
export const vmScriptsVersion = 4;
