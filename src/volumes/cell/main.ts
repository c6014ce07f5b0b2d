export { runCell } from './run-cell.ts';
