export { runDemoCommand } from './run-demo-command.ts';
