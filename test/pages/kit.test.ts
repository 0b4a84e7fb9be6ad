// @suite embedded-only: hardly depends on the engine

import t from 'tap';
import { loadTemplates } from '../../plugins/pages/templates.js';

const render = loadTemplates();

t.test('a field needs only an ID, a name, and a label', async (t) => {
  const field = await render('kit/field', { id: 'color', name: 'color', label: 'Color' });
  t.match(field, '<input id="color" name="color" type="text" required aria-describedby="color-fault">');
});
