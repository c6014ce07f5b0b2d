export { runK8sBinding } from './run-k8s-binding.ts';
