import type { Command } from '../command.ts';
import { embeddedCluster } from '../embedded-cluster.ts';
import { holdLock } from '../hold-lock.ts';

export const stop: Command = {
  name: 'stop',
  usage: '',
  summary: 'Stop the embedded cluster with everything on it; all data is kept',
  async run(_words, { installation, terminal }) {
    const stopped = await holdLock(installation.lockPath, () => embeddedCluster(installation).stop());
    terminal.out(
      stopped ? 'Stopped. The data is kept; the next start brings the same VMs back.\n' : 'Not running.\n',
    );
    return 0;
  },
};
