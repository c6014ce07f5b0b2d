import { ProductError } from '../errors/product-error.ts';

/** Architectures of images, with the names of image-spec (config.md). */
export const architectures = ['amd64', 'arm64'] as const;
export type Architecture = (typeof architectures)[number];

/** The machine that runs this program, with the names of Node.js. */
export interface Machine {
  readonly platform: string;
  readonly arch: string;
}

/**
 * Returns the architecture of images for this machine. Throws STEMCELL_BUILD_UNSUPPORTED if there are no
 * stemcells for it.
 */
export function architectureOf({ arch }: Machine): Architecture {
  if (arch === 'x64') return 'amd64';
  if (arch === 'arm64') return 'arm64';
  throw new ProductError(
    'STEMCELL_BUILD_UNSUPPORTED',
    `This machine is ${arch}, but stemcells are for ${architectures.join(' and ')}: select one with --architecture`,
  );
}

/**
 * Throws STEMCELL_BUILD_UNSUPPORTED on another machine than Linux on x86-64: the embedded agent's executable
 * is made only for it (scripts/build-executable.ts).
 */
export function assertAgentRunsHere({ platform, arch }: Machine): void {
  if (platform === 'linux' && arch === 'x64') return;
  throw new ProductError(
    'STEMCELL_BUILD_UNSUPPORTED',
    `Our agent can be built only on Linux on x86-64, and this machine is ${platform} on ${arch}: name an agent with --agent FILE, or build on such a machine`,
  );
}

/** The rights on the node that the VMs of a stemcell will have (docs/cpi/vms.md). */
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
      return { packages: ['iptables', 'nftables'], linux: {} };
    case 'sys-admin':
    case 'baseline':
      return { packages: [], linux: { UseMonitIptablesFirewall: true } };
  }
}

/** 1 January 2026, an arbitrary fixed time. */
const defaultEpoch = 1_767_225_600;

/**
 * Returns the date of built files in seconds since 1970, so that the result does not depend on the time of
 * the build: the variable SOURCE_DATE_EPOCH (reproducible-builds.org/specs/source-date-epoch), or a fixed
 * time. Throws INVALID_ARGUMENT if the variable is invalid.
 */
export function sourceDateEpoch(variable: string | undefined): number {
  if (variable === undefined || variable === '') return defaultEpoch;
  if (/^[0-9]{1,11}$/.test(variable)) return Number(variable);
  throw new ProductError(
    'INVALID_ARGUMENT',
    `SOURCE_DATE_EPOCH must be seconds since 1970, not '${variable}'`,
  );
}
