// A cell that is killed after its step of that number: FOLDER NUMBER
import { runApp } from '../run-app.ts';
import { cellOf, helpers } from './test-cell.ts';

const [folder = '', number = ''] = process.argv.slice(2);
const { ports } = cellOf(folder);
const { volume, order } = helpers(folder);
let steps = 0;
const step = (): void => {
  steps += 1;
  if (steps === Number(number)) process.kill(process.pid, 'SIGKILL');
};
await ports.volman.scan();
const volumes = [await volume('photos'), await volume('rules', { isReadOnly: true })];
// of a killed cell's app, nothing may go on
const command = ['sh', '-c', 'touch "$1/ran"', 'sh', volumes[0]?.containerDir ?? ''];
await runApp(order(command, volumes), { ...ports, onStep: step });
