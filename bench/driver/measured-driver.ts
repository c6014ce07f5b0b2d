import { configIn, callerOf } from '../../src/volumes/driver/testing/test-driver.ts';
import type { CallDriver } from '../../src/volumes/driver/testing/test-driver.ts';
import type { Mounter } from '../../src/volumes/driver/mount/mounter.ts';
import { startDriver } from '../../src/volumes/driver/start-driver.ts';

/** A driver in this process. */
export interface MeasuredDriver {
  /** Sends a verb. Rejects if the driver responds with an error. */
  readonly call: CallDriver;
  /** Stops the driver; mounts stay. */
  stop(): Promise<void>;
}

export async function measuredDriver(directory: string, mounter: Mounter): Promise<MeasuredDriver> {
  const driver = await startDriver(configIn(directory), { mounter, out: () => undefined });
  const send = callerOf(driver.address);
  return {
    call: async (verb, body) => {
      const answer = await send(verb, body);
      if (answer.Err !== '') throw new Error(`${verb}: ${answer.Err}`);
      return answer;
    },
    stop: () => driver.stop(),
  };
}

let volumes = 0;

/** Creates a volume of the share `/export`; returns the body that names it. */
export async function createVolume({ call }: MeasuredDriver): Promise<{ readonly Name: string }> {
  const Name = `volume-${(volumes += 1)}`;
  await call('VolumeDriver.Create', { Name, Opts: { source: 'nfs://server/export' } });
  return { Name };
}

/** Mounts and unmounts a new volume. */
export async function mountAndUnmount(driver: MeasuredDriver): Promise<void> {
  const volume = await createVolume(driver);
  await driver.call('VolumeDriver.Mount', volume);
  await driver.call('VolumeDriver.Unmount', volume);
}
