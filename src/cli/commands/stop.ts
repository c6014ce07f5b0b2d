import { ProductError } from '../../errors/product-error.ts';
import type { Command } from '../command.ts';
import { embeddedCluster } from '../embedded-cluster.ts';
import { withClusterLock } from '../hold-cluster.ts';

export const stop: Command = {
  name: 'stop',
  usage: '',
  summary: 'Stop the embedded cluster with everything on it; all data is kept',
  async run([word], { installation, terminal }) {
    if (word !== undefined)
      throw new ProductError('INVALID_ARGUMENT', `'stop' takes no further words, not '${word}'`);
    const stopped = await withClusterLock(installation, 'stop', () => embeddedCluster(installation).stop());
    terminal.out(
      stopped ? 'Stopped. The data is kept; the next start brings the same VMs back.\n' : 'Not running.\n',
    );
    return 0;
  },
};
