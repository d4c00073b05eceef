// Two buttons: save the picture, and reset the zoom. More would cover the titles of narrow figures. The
// button that sends a figure to Plotly's servers is removed: data must not leave the computer.
const plots=[...document.querySelectorAll('.plot')];
const settings={responsive:true,displaylogo:false,showSendToCloud:false,plotlyServerURL:'',
 modeBarButtonsToRemove:['select2d','lasso2d','autoScale2d','zoom2d','pan2d','zoomIn2d','zoomOut2d']};
function draw(box){
 const figure=JSON.parse(box.querySelector('script').textContent);
 return Plotly.newPlot(box,figure.data,figure.layout,settings);
}
function next(i){
 if(i===plots.length){document.body.dataset.drawn=i;return}
 const folded=plots[i].closest('details:not([open])');
 (folded?Promise.resolve():draw(plots[i])).then(()=>setTimeout(next,0,i+1));
}
for(const fold of document.querySelectorAll('details'))fold.addEventListener('toggle',()=>{
 for(const box of fold.querySelectorAll('.plot:not(.js-plotly-plot)'))if(fold.open)draw(box);
});
next(0);
