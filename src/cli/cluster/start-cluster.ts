import type { CommandContext } from '../command.ts';
import { uninterrupted } from '../interruption.ts';
import { withLiveProgress } from '../output/with-progress.ts';
import { embeddedCluster, type EmbeddedCluster, type StartOptions } from './embedded-cluster.ts';
import { withClusterLock } from './installation-lock.ts';

/** Starts the embedded cluster, for a caller that has its lock. An interrupt does not end it. */
export function startCluster(
  cluster: EmbeddedCluster,
  context: CommandContext,
  options?: StartOptions,
): Promise<void> {
  const { terminal } = context;
  return uninterrupted(
    () =>
      withLiveProgress(terminal, 'Starting the cluster', () =>
        cluster.start((line) => terminal.error(line), options),
      ),
    context,
    {
      work: 'The start of the cluster continues until its API responds',
      next: "the cluster may run, and 'bosh-kubernetes stop' stops it",
    },
  );
}

/** Stops the embedded cluster. Returns true if it was running. An interrupt does not end it. */
export function stopCluster(context: CommandContext): Promise<boolean> {
  const { installation, terminal } = context;
  return withClusterLock(installation, 'stop', () =>
    uninterrupted(
      () => withLiveProgress(terminal, 'Stopping the cluster', () => embeddedCluster(installation).stop()),
      context,
      {
        work: 'The cluster is stopped as usual; all data is kept',
        next: 'the same command stops the rest',
      },
    ),
  );
}
