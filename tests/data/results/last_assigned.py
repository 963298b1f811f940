import cadquery as cq

housing = cq.Workplane().box(10, 10, 10)
drill = cq.Workplane().box(2, 2, 20)
housing = housing.cut(drill)
