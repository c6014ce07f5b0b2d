/** The rights on the node that the VMs of a stemcell will have (docs/cpi/vms.md, profiles). */
export const profiles = ['privileged', 'sys-admin', 'baseline'] as const;
export type Profile = (typeof profiles)[number];

export interface ProfileSettings {
  /** Debian packages beside those that every stemcell has. */
  readonly packages: readonly string[];
  /**
   * Key `Platform.Linux` of agent.json, beside the settings of every stemcell (bosh-agent:
   * platform/linux_platform.go).
   */
  readonly linux: Readonly<Record<string, boolean>>;
}

/**
 * Returns the settings of a profile. Without NET_ADMIN the agent cannot set up monit's firewall; with
 * UseMonitIptablesFirewall it leaves that to the image.
 */
export function profileSettings(profile: Profile): ProfileSettings {
  switch (profile) {
    case 'privileged':
      return { packages: ['iptables', 'kmod', 'nftables'], linux: {} };
    case 'sys-admin':
    case 'baseline':
      return { packages: [], linux: { UseMonitIptablesFirewall: true } };
  }
}
