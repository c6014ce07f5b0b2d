import { ProductError } from '../../errors/product-error.ts';
import type { RootTarOptions } from '../../oci/tar/check-root-tar.ts';
import { RootPrograms } from './root-programs.ts';

/** Watches the entries of a root pass by; what a VM cannot do without is looked for. */
export interface RootInspector {
  /** To be told the entries of the next layer; the lowest one comes first. */
  nextLayer(): NonNullable<RootTarOptions['onEntry']>;
  /** STEMCELL_INVALID, naming `what`, where the root has no agent or no shell that can be run. */
  check(what: string): void;
}

/** The CPI starts these two (src/cpi/vm/entry-script.ts, vm-pod.ts). */
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
