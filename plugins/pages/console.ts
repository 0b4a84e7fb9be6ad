import type { Page } from './service.js';

/** The console. @param path the screen, below the path of the service, with its query */
export const consolePage = (path: string): Page => ({
  application: 'console',
  name: 'console',
  returnTo: path,
  isWrittenByScripts: true,
  add: ({ project, languages }) => ({ data: { project: project.project_name, logo: project.project_logo, languages } }),
});
