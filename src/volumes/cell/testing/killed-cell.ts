// Runs a cell that is killed after the step with the number: killed-cell.ts FOLDER NUMBER
import { runApp } from '../run-app.ts';
import { cellOf, helpers } from './test-cell.ts';

const [directory = '', number = ''] = process.argv.slice(2);
const { ports } = cellOf(directory);
const { volume, spec } = helpers(directory);
let steps = 0;
const step = (): void => {
  steps += 1;
  if (steps === Number(number)) process.kill(process.pid, 'SIGKILL');
};
await ports.volman.scan();
const volumes = [await volume('photos'), await volume('rules', { isReadOnly: true })];
// the app of a killed cell must not continue
const command = ['sh', '-c', 'touch "$1/ran"', 'sh', volumes[0]?.containerDir ?? ''];
await runApp(spec(command, volumes), { ...ports, onStep: step });
