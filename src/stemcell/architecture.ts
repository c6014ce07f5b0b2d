import { ProductError } from '../errors/product-error.ts';

/** Of images, by the names that they use (image-spec, config.md). */
export const architectures = ['amd64', 'arm64'] as const;
export type Architecture = (typeof architectures)[number];

/** Where a program runs, in Node's names. */
export interface Machine {
  readonly platform: string;
  readonly arch: string;
}

/** That of what a machine runs and makes: STEMCELL_BUILD_UNSUPPORTED for one of which there are no stemcells. */
export function architectureOf({ arch }: Machine): Architecture {
  if (arch === 'x64') return 'amd64';
  if (arch === 'arm64') return 'arm64';
  throw new ProductError(
    'STEMCELL_BUILD_UNSUPPORTED',
    `This machine is ${arch}, and stemcells are for ${architectures.join(' and ')}: say which with --architecture`,
  );
}

/** Our agent's executable is made for Linux on x86-64 alone (scripts/build-executable.ts). STEMCELL_BUILD_UNSUPPORTED. */
export function assertAgentRunsHere({ platform, arch }: Machine): void {
  if (platform === 'linux' && arch === 'x64') return;
  throw new ProductError(
    'STEMCELL_BUILD_UNSUPPORTED',
    `Our agent is made for Linux on x86-64, and this is ${platform} on ${arch}: give the agent with --agent FILE, or build on such a machine`,
  );
}
