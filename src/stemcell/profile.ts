/** How much of the node the VMs of a stemcell will have (docs/cpi.md, profiles). */
export const profiles = ['privileged', 'sys-admin', 'baseline'] as const;
export type Profile = (typeof profiles)[number];

export interface ProfileSettings {
  /** Debian packages beside those that every stemcell has. */
  readonly packages: readonly string[];
  /** Key `Platform.Linux` of agent.json, beside what every stemcell has (bosh-agent: platform/linux_platform.go). */
  readonly linux: Readonly<Record<string, boolean>>;
}

/** Where the VM has no rights on its network, the agent is told that somebody else guards monit. */
export function profileSettings(profile: Profile): ProfileSettings {
  switch (profile) {
    case 'privileged':
      return { packages: ['iptables', 'kmod', 'nftables'], linux: {} };
    case 'sys-admin':
    case 'baseline':
      return { packages: [], linux: { UseMonitIptablesFirewall: true } };
  }
}
