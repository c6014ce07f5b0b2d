const domain = 'bosh.cloudfoundry.org/';

/** The labels of the CPI's objects that `status` and `orphans` read, too (object layout 1). */
export const objectLabels = {
  /** What the object is for: `vm`, `disk`, `attachment` and more. */
  kind: `${domain}kind`,
  vmId: `${domain}vm-id`,
  diskId: `${domain}disk-id`,
  /** On a disk that nothing has claimed by an attachment or metadata: its creator may have been killed. */
  unclaimed: `${domain}unclaimed`,
} as const;

/** The annotations of the CPI's objects that `status` and `orphans` read, too. */
export const objectAnnotations = {
  /** JSON of what set_vm_metadata or set_disk_metadata was given last. */
  metadata: `${domain}metadata`,
  /** On a VM's pod: `vmScriptsVersion` when it was made. A pod keeps its scripts; one without is of version 1. */
  scriptsVersion: `${domain}scripts-version`,
} as const;

/**
 * The version of the scripts in a VM's pod (src/cpi/vm/entry-script.ts, prepare-script.ts). It is raised by a change
 * that VMs should be recreated for, such as one that closes an attack; `status` names the VMs of earlier versions.
 */
export const vmScriptsVersion = 4;
