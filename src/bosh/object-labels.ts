const domain = 'bosh.cloudfoundry.org/';

/** The labels of the CPI's objects that `status` and `orphans` also read (object layout 1). */
export const objectLabels = {
  /** The purpose of the object: `vm`, `disk`, `attachment` and others. */
  kind: `${domain}kind`,
  vmId: `${domain}vm-id`,
  diskId: `${domain}disk-id`,
  /**
   * On a disk that has never been attached and never got metadata: the process that created it may have been
   * killed.
   */
  unclaimed: `${domain}unclaimed`,
} as const;

/** The annotations of the CPI's objects that `status` and `orphans` also read. */
export const objectAnnotations = {
  /** The JSON of the last set_vm_metadata or set_disk_metadata call. */
  metadata: `${domain}metadata`,
  /**
   * On a VM's pod: the `vmScriptsVersion` at its creation. A pod keeps its scripts. A pod without the
   * annotation has version 1.
   */
  scriptsVersion: `${domain}scripts-version`,
} as const;

/**
 * The version of the scripts in a VM's pod (src/cpi/vm/scripts/entry.ts, prepare-and-stop.ts). It is
 * increased with a change for which VMs should be recreated, for example one that prevents an attack.
 * `status` lists the VMs of earlier versions.
 */
export const vmScriptsVersion = 4;
