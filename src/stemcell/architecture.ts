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
    `This machine is ${arch}, and stemcells are for ${architectures.join(' and ')}: say which with --architecture`,
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
    `Our agent is made for Linux on x86-64, and this is ${platform} on ${arch}: give the agent with --agent FILE, or build on such a machine`,
  );
}
