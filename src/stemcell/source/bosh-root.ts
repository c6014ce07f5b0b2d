import { ProductError } from '../../errors/product-error.ts';
import type { RootTarOptions } from '../../oci/tar/check-root-tar.ts';
import { RootPrograms } from './root-programs.ts';

/** Inspects the entries of a root while it is read, and looks for the programs that a VM needs. */
export interface RootInspector {
  /**
   * Returns the function that must be called with each entry of the next layer. The lowest layer comes first.
   */
  nextLayer(): NonNullable<RootTarOptions['onEntry']>;
  /** Throws STEMCELL_INVALID, naming `what`, if the root has no executable agent or shell. */
  check(what: string): void;
}

/** The CPI starts these two (src/cpi/vm/scripts/entry.ts, vm-pod.ts). */
const needed = ['/var/vcap/bosh/bin/bosh-agent', '/bin/sh'];

export function createRootInspector(): RootInspector {
  const programs = new RootPrograms();
  return {
    nextLayer: () => programs.nextLayer(),
    check: (what) => {
      const missing = needed.filter((path) => !programs.has(path)).map((path) => `program ${path}`);
      if (missing.length === 0) return;
      throw new ProductError(
        'STEMCELL_INVALID',
        `${what} is no root of a BOSH VM: it has no ${missing.join(' and no ')}. A stemcell of Debian with an agent is made by: stemcell build --from-debian`,
      );
    },
  };
}
