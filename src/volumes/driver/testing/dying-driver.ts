// Runs a driver with the given arguments that kills itself (-9) at step DIE_AT of its writes to the disk and
// its mounts.
import { bindMounter } from '../mount/bind-mounter.ts';
import type { Mounter } from '../mount/mounter.ts';
import { parseDriverConfig } from '../config.ts';
import { startDriver } from '../start-driver.ts';
import { VolumeStore } from '../volume-store.ts';

const dieAt = Number(process.env['DIE_AT']);
let steps = 0;

function step(): void {
  steps += 1;
  if (steps === dieAt) process.kill(process.pid, 'SIGKILL');
}

// eslint-disable-next-line typescript/unbound-method -- they are called with their object
const { put, delete: remove } = VolumeStore.prototype;
VolumeStore.prototype.put = function (record) {
  put.call(this, record);
  step();
};
VolumeStore.prototype.delete = async function (name) {
  await remove.call(this, name);
  step();
};

const config = parseDriverConfig(process.argv.slice(2));
const real = bindMounter(config.bindSource ?? '/');
const mounter: Mounter = {
  ...real,
  mount: async (...args) => {
    step();
    await real.mount(...args);
    step();
  },
  unmount: async (...args) => {
    step();
    await real.unmount(...args);
    step();
  },
};
await startDriver(config, {
  mounter,
  replacement: 'local bind',
  out: (line) => void process.stdout.write(line),
});
