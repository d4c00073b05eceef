import {ask, draw, name} from './figures.js';
const box = document.getElementById('figure');
ask(box.dataset.address).then(async figure => { await draw(box, figure); name(box, 'Paired sources of both runs'); });
