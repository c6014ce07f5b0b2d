import { ProductError } from '../../errors/product-error.ts';

/** Watches the paths of a root pass by; what a VM cannot do without is looked for. */
export interface BoshRoot {
  readonly onPath: (path: string) => void;
  /** STEMCELL_INVALID, naming `what`, where the root has no agent or no shell. */
  check(what: string): void;
}

/** The CPI starts these two (src/cpi/vm/entry-script.ts). A shell may be below /usr, with /bin a link. */
export function watchBoshRoot(): BoshRoot {
  const agent = 'var/vcap/bosh/bin/bosh-agent';
  const shells = ['bin/sh', 'usr/bin/sh'];
  const found = new Set<string>();
  return {
    onPath: (path) => {
      if (path === agent || shells.includes(path)) found.add(path);
    },
    check: (what) => {
      const missing = [
        ...(found.has(agent) ? [] : [`/${agent}`]),
        ...(shells.some((shell) => found.has(shell)) ? [] : ['/bin/sh']),
      ];
      if (missing.length === 0) return;
      throw new ProductError(
        'STEMCELL_INVALID',
        `${what} is no root of a BOSH VM: it has no ${missing.join(' and no ')}. A stemcell of Debian with an agent is made by: stemcell build --from-debian`,
      );
    },
  };
}
